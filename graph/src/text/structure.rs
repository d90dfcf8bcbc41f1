//! Aggregates in the text form: schemas, and paths to their parts.

use super::expr::host_type;
use super::lex::Token;
use super::parse::{Parsed, Parser};
use crate::{Aggregate, FieldPath, Schema, Step, Write};

impl Parser<'_> {
    /// `aggregate self {"weight": tensor}`, behind the keyword.
    pub(super) fn aggregate(&mut self) -> Parsed<()> {
        let name = self.name("the aggregate's name")?;
        let schema = self.schema()?;
        self.module.aggregates.push(Aggregate { name, schema });
        Ok(())
    }

    fn schema(&mut self) -> Parsed<Schema> {
        if self.eat("{") {
            let mut fields = Vec::new();
            while !self.is("}") {
                let name = self.name("the field's name")?;
                self.punct(":")?;
                fields.push((name, self.nested(Self::schema)?));
                if !self.eat(",") {
                    break;
                }
            }
            self.punct("}")?;
            return Ok(Schema::Struct(fields));
        }
        let Token::Ident(word) = *self.peek() else {
            return Err(self.expected("a schema such as `tensor` or `list(tensor)`"));
        };
        self.next();
        Ok(match word {
            "tensor" => Schema::Tensor,
            "opaque" => Schema::Opaque,
            "option" => Schema::Option(Box::new(self.inner_schema()?)),
            "list" => Schema::List(Box::new(self.inner_schema()?)),
            other => match host_type(other) {
                Some(t) => Schema::Host(t),
                None => return Err(self.expected("a schema such as `tensor` or `list(tensor)`")),
            },
        })
    }

    fn inner_schema(&mut self) -> Parsed<Schema> {
        self.punct("(")?;
        let inner = self.nested(Self::schema)?;
        self.punct(")")?;
        Ok(inner)
    }

    /// `from field(0, 2)`, if it is there.
    pub(super) fn source(&mut self) -> Parsed<Option<FieldPath>> {
        if !self.keyword("from") {
            return Ok(None);
        }
        if !self.keyword("field") {
            return Err(self.expected("`field(..)`"));
        }
        self.field_path().map(Some)
    }

    /// `(0, 2, some, [1])`, behind the keyword.
    pub(super) fn field_path(&mut self) -> Parsed<FieldPath> {
        self.punct("(")?;
        let mut path = FieldPath::root(self.small()?);
        path.steps = self.steps()?;
        Ok(path)
    }

    /// `(field(0), 1)`, behind the keyword `each`.
    pub(super) fn elements(&mut self) -> Parsed<Write> {
        self.punct("(")?;
        if !self.keyword("field") {
            return Err(self.expected("`field(..)`"));
        }
        let list = self.field_path()?;
        Ok(Write::Elements(list, self.steps()?))
    }

    /// `, 2, some, [1])`.
    fn steps(&mut self) -> Parsed<Vec<Step>> {
        let mut steps = Vec::new();
        while self.eat(",") {
            steps.push(if self.eat("[") {
                let index = self.small()?;
                self.punct("]")?;
                Step::Index(index)
            } else if self.keyword("some") {
                Step::Some
            } else {
                Step::Field(self.small()?)
            });
        }
        self.punct(")")?;
        Ok(steps)
    }
}
