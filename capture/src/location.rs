//! Places in the source: line, column, and an expression's text on one line.

use proc_macro2::{Delimiter, LineColumn, Span, TokenStream, TokenTree};
use tensorplay_graph::Location;

const LONGEST: usize = 60;

/// The place of `tokens`, pointing at `at`.
pub fn location(at: Span, tokens: TokenStream) -> Location {
    let start = at.start();
    Location {
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
