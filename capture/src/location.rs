//! Places in the source: line, column, an expression's tokens, and their text on one line.

use proc_macro2::{Delimiter, Group, LineColumn, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Expr, ExprBinary, ExprMethodCall};
use tensorplay_graph::Location;

const LONGEST: usize = 60;

/// The place of `tokens`, pointing at `at`.
pub fn location(at: Span, tokens: TokenStream) -> Location {
    let start = at.start();
    Location {
        file: String::new(),
        line: start.line as u32,
        column: start.column as u32 + 1,
        text: text(tokens),
    }
}

/// The line of a span, from 1.
pub fn line(span: Span) -> u32 {
    span.start().line as u32
}

/// The file of a span, as the compiler names it.
pub fn file(span: Span) -> String {
    span.file()
}

/// The context in which a name of that span is looked up, as far as the compiler's text of spans tells: `#7 bytes(..)`.
pub fn context(span: Span) -> Option<String> {
    let shown = format!("{span:?}");
    let context = shown.split(' ').next().filter(|c| c.starts_with('#'));
    context.map(str::to_string)
}

/// The file of a span as a graph keeps it: relative to where cargo runs the compiler, never a path of this machine;
/// a file of a dependency keeps what follows its package's folder.
pub fn source_file(span: Span) -> String {
    let file = file(span);
    let relative = !file.starts_with('/') && !file.contains(':') && !file.starts_with('\\');
    match file.rfind("/src/") {
        // tokens that a macro or a test parsed from text have no file
        _ if file.starts_with('<') => String::new(),
        _ if relative => file,
        Some(at) => file[at + 1..].to_string(),
        None => file.rsplit(['/', '\\']).next().unwrap_or_default().to_string(),
    }
}

/// The source text of tokens on one line; a long text loses its beginning.
///
/// Spans are joined only by nightly compilers, so the text is rebuilt from the tokens and the gaps between them.
pub fn text(tokens: TokenStream) -> String {
    let mut out = Text::default();
    out.stream(tokens);
    let n = out.text.chars().count();
    if n <= LONGEST {
        return out.text;
    }
    let tail: String = out.text.chars().skip(n - (LONGEST - 2)).collect();
    format!("..{tail}")
}

/// A link of a chain of operations.
pub struct Link<'a> {
    base: &'a Expr,
    /// What follows the base.
    end: TokenStream,
    /// The end has at least so many characters.
    width: usize,
}

/// An expression that may be a link: `base.method(..)`, `base + right`.
pub trait Chain: ToTokens {
    fn link(&self) -> Option<Link<'_>>;
}

impl Chain for ExprMethodCall {
    fn link(&self) -> Option<Link<'_>> {
        let (dot, method, turbofish, args) = (&self.dot_token, &self.method, &self.turbofish, &self.args);
        let mut end = quote!(#dot #method #turbofish);
        self.paren_token
            .surround(&mut end, |inside| args.to_tokens(inside));
        self.attrs.is_empty().then(|| Link {
            base: &self.receiver,
            end,
            width: method.to_string().len() + 3,
        })
    }
}

impl Chain for ExprBinary {
    fn link(&self) -> Option<Link<'_>> {
        let (op, right) = (&self.op, &self.right);
        let end = quote!(#op #right);
        let width = end.clone().into_iter().count();
        self.attrs.is_empty().then(|| Link {
            base: &self.left,
            end,
            width,
        })
    }
}

impl Chain for Expr {
    fn link(&self) -> Option<Link<'_>> {
        match self {
            Expr::MethodCall(m) => m.link(),
            Expr::Binary(b) => b.link(),
            Expr::Try(t) if t.attrs.is_empty() => Some(Link {
                base: &t.expr,
                end: t.question_token.to_token_stream(),
                width: 1,
            }),
            _ => None,
        }
    }
}

/// The tokens of an expression, for places and messages: all that [`text`] and an underline show of them.
///
/// Each link of a chain of n operations is an expression; the tokens of all would be n^2.
pub fn tokens(e: &(impl Chain + ?Sized)) -> TokenStream {
    let mut ends = Vec::new();
    let mut width = 0;
    let mut link = e.link();
    let mut base = None;
    while let Some(Link {
        base: b,
        end,
        width: w,
    }) = link
    {
        ends.push(end);
        width += w;
        base = Some(b);
        link = if width > LONGEST { None } else { b.link() };
    }
    let mut out = match base {
        None => e.to_token_stream(),
        Some(b) if width > LONGEST => first_token(b),
        Some(b) => b.to_token_stream(),
    };
    out.extend(ends.into_iter().rev());
    out
}

/// Where the tokens of an expression begin.
pub fn start(e: &impl Chain) -> Span {
    tokens(e)
        .into_iter()
        .next()
        .map_or_else(Span::call_site, |t| t.span())
}

fn first_token(mut e: &Expr) -> TokenStream {
    loop {
        e = match e {
            Expr::MethodCall(m) if m.attrs.is_empty() => &m.receiver,
            Expr::Binary(b) if b.attrs.is_empty() => &b.left,
            Expr::Try(t) if t.attrs.is_empty() => &t.expr,
            Expr::Paren(p) if p.attrs.is_empty() => {
                let mut group = Group::new(Delimiter::Parenthesis, TokenStream::new());
                group.set_span(p.paren_token.span.join());
                return TokenTree::Group(group).into();
            }
            other => return other.to_token_stream().into_iter().take(1).collect(),
        };
    }
}

#[derive(Default)]
struct Text {
    text: String,
    end: Option<LineColumn>,
}

impl Text {
    fn stream(&mut self, tokens: TokenStream) {
        for tree in tokens {
            match tree {
                TokenTree::Group(g) => {
                    let (open, close) = match g.delimiter() {
                        Delimiter::Parenthesis => ("(", ")"),
                        Delimiter::Brace => ("{", "}"),
                        Delimiter::Bracket => ("[", "]"),
                        Delimiter::None => ("", ""),
                    };
                    // a group that syn prints has one span: its delimiters are the first and the last character
                    let (start, end) = (g.span_open().start(), g.span_close().end());
                    self.token(
                        open,
                        start,
                        LineColumn {
                            column: start.column + 1,
                            ..start
                        },
                    );
                    self.stream(g.stream());
                    self.token(
                        close,
                        LineColumn {
                            column: end.column.saturating_sub(1),
                            ..end
                        },
                        end,
                    );
                }
                other => self.token(&other.to_string(), other.span().start(), other.span().end()),
            }
        }
    }

    fn token(&mut self, token: &str, start: LineColumn, end: LineColumn) {
        if token.is_empty() {
            return;
        }
        let gap = self
            .end
            .is_some_and(|e| e != start && !(e.line != start.line && token.starts_with(['.', ')', ']'])));
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let glued = self.text.ends_with(word) && token.starts_with(word);
        let opened = self.end.is_some_and(|e| e.line != start.line) && self.text.ends_with(['(', '[']);
        if (gap && !opened) || glued {
            self.text.push(' ');
        }
        self.text.push_str(token);
        self.end = Some(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(source: &str) -> Expr {
        syn::parse_str(source).expect("an expression")
    }

    #[test]
    fn a_chain_keeps_what_is_shown_of_it() {
        let link = ".relu()\n  .add(&w)? + -b * 2.0";
        for root in ["x", "(a - b)", "self.w", "f(x)", "-y", "Tensor::ones(2, d)"] {
            for n in 0..20 {
                let e = parsed(&format!("{root}{}", link.repeat(n)));
                let whole = e.to_token_stream();
                assert_eq!(text(tokens(&e)), text(whole.clone()));
                let ends = |t: TokenStream| {
                    let spans: Vec<Span> = t.into_iter().map(|t| t.span()).collect();
                    (spans.first().map(|s| s.start()), spans.last().map(|s| s.end()))
                };
                assert_eq!(ends(tokens(&e)), ends(whole));
                assert_eq!(Some(start(&e).start()), ends(tokens(&e)).0);
            }
        }
    }

    #[test]
    fn the_tokens_of_a_chain_are_bounded() {
        for link in [".exp()", " + y", "?"] {
            let e = parsed(&format!("x{}", link.repeat(400)));
            let n = tokens(&e).into_iter().count();
            assert!(n <= 2 * LONGEST, "{n} tokens of x{link}{link}..");
        }
    }
}
