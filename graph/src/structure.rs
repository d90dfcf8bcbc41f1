//! `Schema`, `FieldPath`, `Tree`: structs of tensors as arguments.
//!
//! Problem: a method reads `self.blocks[2].conv.weight`; how many blocks there are, and whether an optional layer is
//! there, only a call knows.
//!
//! Method: a struct is flattened into its tensors and its numbers, in the order of its fields: an `Option` gives a flag
//! and then its content if it is there, a list its length and then its elements. A [`Schema`] says what a type is
//! flattened to; with the numbers of a call it gives a [`Tree`], which says where each part went.

use crate::{Host, HostType};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a type of arguments consists of.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Schema {
    /// A tensor.
    Tensor,
    /// A number, a flag or a dtype.
    Host(HostType),
    /// Something or nothing.
    Option(Box<Schema>),
    /// Any number of the same.
    List(Box<Schema>),
    /// Fields by name; a tuple's are numbers.
    Struct(Vec<(String, Schema)>),
    /// What a graph does not read: it is not flattened.
    Opaque,
}

impl Schema {
    /// The field of that name, and its number.
    pub fn field(&self, name: &str) -> Option<(u32, &Schema)> {
        let Schema::Struct(fields) = self else { return None };
        let at = fields.iter().position(|(n, _)| n == name)?;
        Some((at as u32, &fields[at].1))
    }
}

/// A step from a value to a part of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Step {
    /// A field of a struct.
    Field(u32),
    /// What an `Option` holds.
    Some,
    /// An element of a list.
    Index(u32),
}

/// A part of an aggregate argument. Read as a number, an `Option` is whether it is there, and a list is its length.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FieldPath {
    /// The number of the aggregate.
    pub root: u32,
    /// The steps from there.
    pub steps: Vec<Step>,
}

impl FieldPath {
    /// A whole aggregate.
    pub fn root(root: u32) -> FieldPath {
        FieldPath {
            root,
            steps: Vec::new(),
        }
    }

    /// A part of this part.
    #[must_use]
    pub fn then(&self, step: Step) -> FieldPath {
        let mut path = self.clone();
        path.steps.push(step);
        path
    }
}

/// Prints `2`, `some` or `[1]`.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Field(i) => i.fmt(f),
            Step::Some => f.write_str("some"),
            Step::Index(i) => write!(f, "[{i}]"),
        }
    }
}

/// Prints `field(0, 2, some, [1])`.
impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "field({}", self.root)?;
        for step in &self.steps {
            write!(f, ", {step}")?;
        }
        f.write_str(")")
    }
}

/// A mark on the code of a list that a function returns, where only a call knows its length: the list consists of the
/// results from this number on, as many as the next code says, and some of these are lists.
pub const OPEN_LIST: u32 = 1 << 31;

/// What the caller lends as `&mut` and a path assigns.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Write {
    /// The tensor parameter of that number; it may be a part of an aggregate.
    Input(u32),
    /// A part of each element of a list, from the first on.
    Elements(FieldPath, Vec<Step>),
}

/// Prints `input 2` or `each(field(0), 1)`.
impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Write::Input(i) => write!(f, "input {i}"),
            Write::Elements(list, part) => {
                write!(f, "each({list}")?;
                for step in part {
                    write!(f, ", {step}")?;
                }
                f.write_str(")")
            }
        }
    }
}

/// Prints `{weight: tensor, bias: option(tensor), heads: usize}`.
impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schema::Tensor => f.write_str("tensor"),
            Schema::Host(t) => f.write_str(t.name()),
            Schema::Option(s) => write!(f, "option({s})"),
            Schema::List(s) => write!(f, "list({s})"),
            Schema::Struct(fields) => {
                f.write_str("{")?;
                for (i, (name, schema)) in fields.iter().enumerate() {
                    let sep = if i == 0 { "" } else { ", " };
                    write!(f, "{sep}{name:?}: {schema}")?;
                }
                f.write_str("}")
            }
            Schema::Opaque => f.write_str("opaque"),
        }
    }
}

/// An aggregate argument of a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Aggregate {
    /// Its name: `self`.
    pub name: String,
    /// What it consists of.
    pub schema: Schema,
}

/// Where the parts of one flattened aggregate are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tree {
    /// The tensor of that number.
    Tensor(u32),
    /// The host value of that number.
    Host(u32),
    /// The number of the flag, and what is there.
    Option(u32, Option<Box<Tree>>),
    /// The number of the length, and the elements.
    List(u32, Vec<Tree>),
    /// The fields.
    Struct(Vec<Tree>),
    /// Not flattened.
    Opaque,
}

impl Tree {
    /// The tree of a value that was flattened behind so many tensors and host values, which grow; `None` if the values
    /// are not those of the schema.
    pub fn build(schema: &Schema, tensors: &mut u32, hosts: &mut u32, values: &[Host]) -> Option<Tree> {
        let next = |n: &mut u32| {
            let at = *n;
            *n += 1;
            at
        };
        Some(match schema {
            Schema::Tensor => Tree::Tensor(next(tensors)),
            Schema::Host(_) => Tree::Host(next(hosts)),
            Schema::Option(inner) => {
                let at = next(hosts);
                let some = match values.get(at as usize)? {
                    Host::Bool(true) => Some(Box::new(Tree::build(inner, tensors, hosts, values)?)),
                    Host::Bool(false) => None,
                    _ => return None,
                };
                Tree::Option(at, some)
            }
            Schema::List(inner) => {
                let at = next(hosts);
                let len = values.get(at as usize)?.as_int()?;
                let each = (0..len).map(|_| Tree::build(inner, tensors, hosts, values));
                Tree::List(at, each.collect::<Option<_>>()?)
            }
            Schema::Struct(fields) => {
                let each = fields.iter().map(|(_, s)| Tree::build(s, tensors, hosts, values));
                Tree::Struct(each.collect::<Option<_>>()?)
            }
            Schema::Opaque => Tree::Opaque,
        })
    }

    /// The part at a path, if it is there.
    pub fn at(&self, steps: &[Step]) -> Option<&Tree> {
        let Some((step, rest)) = steps.split_first() else {
            return Some(self);
        };
        let part = match (self, step) {
            (Tree::Struct(fields), Step::Field(i)) => fields.get(*i as usize),
            (Tree::Option(_, some), Step::Some) => some.as_deref(),
            (Tree::List(_, items), Step::Index(i)) => items.get(*i as usize),
            _ => None,
        };
        part?.at(rest)
    }

    /// The index on the way that a list does not have, and the length of that list.
    pub fn short(&self, steps: &[Step]) -> Option<(usize, usize)> {
        let (step, rest) = steps.split_first()?;
        match (self, step) {
            (Tree::List(_, items), Step::Index(i)) => match items.get(*i as usize) {
                Some(item) => item.short(rest),
                None => Some((*i as usize, items.len())),
            },
            _ => self.at(std::slice::from_ref(step))?.short(rest),
        }
    }

    /// The number of the host value that the part is read as.
    pub fn host(&self) -> Option<u32> {
        match self {
            Tree::Host(i) | Tree::Option(i, _) | Tree::List(i, _) => Some(*i),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flattened_struct_is_found_again() {
        let layer = Schema::Struct(vec![
            ("weight".into(), Schema::Tensor),
            ("bias".into(), Schema::Option(Box::new(Schema::Tensor))),
        ]);
        let net = Schema::Struct(vec![
            ("heads".into(), Schema::Host(HostType::Usize)),
            ("layers".into(), Schema::List(Box::new(layer))),
            ("head".into(), Schema::Tensor),
        ]);
        let values = [Host::Int(4), Host::Int(2), Host::Bool(true), Host::Bool(false)];
        let (mut tensors, mut hosts) = (1, 0);
        let tree = Tree::build(&net, &mut tensors, &mut hosts, &values).unwrap();
        assert_eq!((tensors, hosts), (5, 4));
        use Step::*;
        assert_eq!(
            tree.at(&[Field(1), Index(0), Field(1), Some]),
            Option::Some(&Tree::Tensor(2))
        );
        assert_eq!(tree.at(&[Field(1), Index(1), Field(1), Some]), None);
        assert_eq!(
            tree.at(&[Field(1), Index(1), Field(1)]).and_then(Tree::host),
            Option::Some(3)
        );
        assert_eq!(tree.at(&[Field(2)]), Option::Some(&Tree::Tensor(4)));
        assert_eq!(tree.at(&[Field(1)]).and_then(Tree::host), Option::Some(1));
        assert!(Tree::build(&net, &mut 0, &mut 0, &values[..2]).is_none());
    }
}
