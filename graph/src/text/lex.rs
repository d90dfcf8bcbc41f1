//! Tokens of the text form. A token borrows nothing but identifiers; positions are byte offsets, which
//! become line and column only in an error.

use super::error::{ParseError, ParseErrorKind};
use std::fmt;

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token<'a> {
    /// A name or keyword; names may be paths: `self.w`, `Net::forward`.
    Ident(&'a str),
    Str(String),
    Int(u64),
    Float(f64),
    /// `%3` or `%3.1`.
    Value(u32, u32),
    /// `$0`.
    Param(u32),
    /// `?0`.
    Anonymous(u32),
    Punct(&'static str),
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Ident(s) => write!(f, "`{s}`"),
            Token::Str(s) => write!(f, "{s:?}"),
            Token::Int(v) => write!(f, "`{v}`"),
            Token::Float(v) => write!(f, "`{v:?}`"),
            Token::Value(n, 0) => write!(f, "`%{n}`"),
            Token::Value(n, i) => write!(f, "`%{n}.{i}`"),
            Token::Param(i) => write!(f, "`${i}`"),
            Token::Anonymous(i) => write!(f, "`?{i}`"),
            Token::Punct(s) => write!(f, "`{s}`"),
            Token::End => f.write_str("the end of the text"),
        }
    }
}

/// Longest first.
const PUNCT: &[&str] = &[
    "..=", "..", "->", "==", "!=", "<=", ">=", "&&", "||", "(", ")", "[", "]", "{", "}", ",", ":", "=", "@",
    "<", ">", "+", "-", "*", "/", "%",
];

/// The error at a byte offset.
pub(super) fn error_at(text: &str, at: usize, kind: ParseErrorKind) -> ParseError {
    let (line, column) = line_column(text, at);
    ParseError { line, column, kind }
}

pub(super) fn line_column(text: &str, at: usize) -> (u32, u32) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line as u32, column as u32)
}

/// Whether a name is written without quotes.
pub(super) fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && ident_end(name) == name.len()
}

/// Whether a symbol is written by its name.
pub(super) fn is_plain_ident(name: &str) -> bool {
    is_plain_name(name) && !name.contains(['.', ':'])
}

/// The length of the name at the start of `s`, 0 if there is none.
fn ident_end(s: &str) -> usize {
    let segment = |s: &str| match s.bytes().next() {
        Some(b) if b.is_ascii_alphabetic() || b == b'_' => s
            .bytes()
            .take_while(|b| b.is_ascii_alphanumeric() || *b == b'_')
            .count(),
        _ => 0,
    };
    let mut end = segment(s);
    while end > 0 {
        let rest = &s[end..];
        let sep = if rest.starts_with("::") {
            2
        } else if rest.starts_with('.') {
            1
        } else {
            break;
        };
        match segment(&rest[sep..]) {
            0 => break,
            n => end += sep + n,
        }
    }
    end
}

fn digits(s: &str) -> usize {
    s.bytes().take_while(u8::is_ascii_digit).count()
}

pub(super) fn lex(text: &str) -> Result<Vec<(Token<'_>, usize)>, ParseError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        let (token, len) = token(rest, c).map_err(|kind| error_at(text, at, kind))?;
        tokens.push((token, at));
        at += len;
    }
    tokens.push((Token::End, text.len()));
    Ok(tokens)
}

fn token(rest: &str, c: char) -> Result<(Token<'_>, usize), ParseErrorKind> {
    if c == '"' {
        return string(rest);
    }
    if c.is_ascii_digit() {
        return number(rest);
    }
    if let n @ 1.. = ident_end(rest) {
        return Ok((Token::Ident(&rest[..n]), n));
    }
    let n = digits(&rest[c.len_utf8()..]);
    if n > 0 && matches!(c, '%' | '$' | '?') {
        let index = small(&rest[1..1 + n])?;
        return Ok(match c {
            '$' => (Token::Param(index), 1 + n),
            '?' => (Token::Anonymous(index), 1 + n),
            _ => {
                let after = &rest[1 + n..];
                match after.strip_prefix('.').map(digits) {
                    Some(m @ 1..) => (Token::Value(index, small(&after[1..1 + m])?), 2 + n + m),
                    _ => (Token::Value(index, 0), 1 + n),
                }
            }
        });
    }
    match PUNCT.iter().find(|p| rest.starts_with(**p)) {
        Some(p) => Ok((Token::Punct(p), p.len())),
        None => Err(ParseErrorKind::Character(c)),
    }
}

fn small(s: &str) -> Result<u32, ParseErrorKind> {
    s.parse()
        .ok()
        .filter(|&v| v < u32::MAX)
        .ok_or_else(|| ParseErrorKind::Number(s.to_string()))
}

fn number(s: &str) -> Result<(Token<'_>, usize), ParseErrorKind> {
    let mut end = digits(s);
    let mut float = false;
    if s[end..].starts_with('.')
        && let n @ 1.. = digits(&s[end + 1..])
    {
        float = true;
        end += 1 + n;
    }
    if let Some(exponent) = s[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        if let n @ 1.. = digits(&exponent[sign..]) {
            float = true;
            end += 1 + sign + n;
        }
    }
    let out_of_range = || ParseErrorKind::Number(s[..end].to_string());
    let token = if float {
        let v: f64 = s[..end].parse().map_err(|_| out_of_range())?;
        if v.is_infinite() {
            return Err(out_of_range());
        }
        Token::Float(v)
    } else {
        Token::Int(s[..end].parse().map_err(|_| out_of_range())?)
    };
    Ok((token, end))
}

/// A string as `{:?}` prints it.
fn string(s: &str) -> Result<(Token<'_>, usize), ParseErrorKind> {
    let mut out = String::new();
    let mut chars = s.char_indices().skip(1);
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return Ok((Token::Str(out), i + 1)),
            '\n' => break,
            '\\' => {
                let Some((_, e)) = chars.next() else { break };
                out.push(match e {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    '0' => '\0',
                    '\\' | '"' | '\'' => e,
                    'u' => {
                        if !matches!(chars.next(), Some((_, '{'))) {
                            break;
                        }
                        let hex: String = chars
                            .by_ref()
                            .map(|(_, c)| c)
                            .take_while(|c| *c != '}')
                            .take(8)
                            .collect();
                        match u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32) {
                            Some(c) => c,
                            None => break,
                        }
                    }
                    _ => break,
                });
            }
            c => out.push(c),
        }
    }
    Err(ParseErrorKind::String)
}
