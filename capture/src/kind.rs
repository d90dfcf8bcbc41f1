//! `Kind`: what a local or an expression is, as far as tokens tell.

use crate::model::Ty;
use proc_macro2::TokenStream;
use tensorplay_graph::op::options::OptionsRow;
use tensorplay_graph::{Arg, Expr, FieldPath, NodeId, Value};

/// What an expression is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A tensor, owned or borrowed.
    Tensor(Value),
    /// An integer, float, flag or dtype.
    Host(Expr),
    /// A value of an enum of the module, by name: the number of its variant.
    Enum(String, Expr),
    /// A value of a struct of the module that the body made.
    Record(Record),
    /// `x.shape()`.
    Shape(Value),
    /// A tuple, an array, a slice or a `Vec`; `()` is the empty one.
    List(Vec<Kind>),
    /// The results of `chunk` and `split`.
    Pieces(Pieces),
    /// The settings of an operation, as the list that its row describes.
    Options(&'static OptionsRow, Vec<Arg>),
    /// An `Option` parameter or field: whether it is there, and what it holds if so.
    Maybe(Expr, Box<Kind>),
    /// `Some(..)`.
    Some(Box<Kind>),
    /// `None`.
    None,
    /// A tensor that the caller lends for assignment, by number: what is there depends on when it is loaded.
    Cell(usize),
    /// A parameter that only host code can ask about: its expression when the call starts.
    Opaque(TokenStream),
    /// A `Result`: a `try_` operation or `Ok(..)`.
    Try(Box<Kind>),
    /// A const or a field, read when the call starts.
    Place(Place),
    /// A struct or a list of the module's types, or a layer from elsewhere.
    Part(PartOf),
    /// In a list, what the steps of a loop of unknown length added.
    Many(Many),
    /// In the body of such a loop, a list from outside of it: what the step has added so far. What else is in it no step
    /// can tell.
    Growing(Vec<Kind>),
    /// Not captured; an error was reported, or rustc reports it. Silent.
    Unknown,
}

/// A value of a struct of the module.
#[derive(Clone, Debug)]
pub struct Record {
    /// The struct.
    pub name: String,
    /// Its fields, in the order of the struct.
    pub fields: Vec<(String, Kind)>,
}

/// A list of results whose length may not be known yet.
#[derive(Clone, Debug)]
pub struct Pieces {
    /// The node.
    pub node: NodeId,
    /// Whether the shape rule could not tell the number of results.
    pub open: bool,
}

/// A const or a field path, as written.
#[derive(Clone, Debug)]
pub struct Place {
    /// The path, valid at the start of the function.
    pub tokens: TokenStream,
    /// Whether it begins with `self`.
    pub field: bool,
    /// Whether it was borrowed (`&self.w`): a number is never passed so.
    pub borrowed: bool,
}

/// What the steps of a loop added to a list, one each.
#[derive(Clone, Debug)]
pub struct Many {
    /// The tensors.
    pub list: Value,
    /// The same with a new first axis of size 1.
    pub rows: Value,
    /// How many there are.
    pub count: Expr,
}

/// A part of an aggregate argument.
#[derive(Clone, Debug)]
pub struct PartOf {
    /// Where it is.
    pub path: FieldPath,
    /// What it is.
    pub ty: Ty,
    /// How it is written, from the method's own receiver on.
    pub name: String,
    /// The tokens that name it.
    pub tokens: TokenStream,
    /// Whether its tensors can be assigned for the caller.
    pub lent: bool,
}

impl Kind {
    /// The empty tuple.
    pub const fn unit() -> Kind {
        Kind::List(Vec::new())
    }

    /// For messages.
    pub fn describe(&self) -> &'static str {
        match self {
            Kind::Tensor(_) | Kind::Cell(_) => "a tensor",
            Kind::Opaque(_) => "a value of another type",
            Kind::Host(_) => "a number",
            Kind::Enum(..) => "an enum",
            Kind::Record(_) => "a struct",
            Kind::Shape(_) => "a shape",
            Kind::List(l) if l.is_empty() => "`()`",
            Kind::List(_) => "a tuple or array",
            Kind::Pieces(_) => "a list of tensors",
            Kind::Options(..) => "the options of an operation",
            Kind::Maybe(..) | Kind::Some(_) | Kind::None => "an `Option`",
            Kind::Try(_) => "a `Result`",
            Kind::Place(_) => "a const or field",
            Kind::Many(_) => "a list of unknown length",
            Kind::Growing(_) => "a list that this loop adds to",
            Kind::Part(p) if matches!(p.ty, Ty::List(_)) => match p.ty.is_plain() {
                true => "a list whose length a call knows",
                false => "a list of layers",
            },
            Kind::Part(_) => "a layer",
            Kind::Unknown => "unknown",
        }
    }

    /// What to write where one tensor or number is wanted; `otherwise` if it is one of the two.
    pub fn instead(&self, otherwise: &'static str) -> &'static str {
        match self {
            Kind::Try(_) => "add `?`",
            Kind::List(l) if !l.is_empty() => "pass one part of it, as in pair.0",
            Kind::Pieces(_) => "pass one of them, as in pieces[0]",
            Kind::Some(_) => "remove `Some(..)`",
            _ => otherwise,
        }
    }
}
