//! `Segmented`: what becomes of a function that is not captured whole.

use super::Break;
use crate::Options;
use crate::parameter::{Param, Read};
use crate::returns::ReturnTree;
use proc_macro2::{Ident, TokenStream};
use syn::{ItemFn, Stmt};
use tensorplay_graph::GraphModule;

/// A function as segments with Rust between them.
#[derive(Debug)]
pub struct Segmented {
    /// The function; where a segment stands, its body has a placeholder for [`place`](Segmented::place).
    pub item: ItemFn,
    /// The segments in source order.
    pub segments: Vec<Segment>,
    /// Where capture stopped, in source order.
    pub breaks: Vec<Break>,
    /// How many parameters it has, without the receiver.
    pub arity: usize,
    /// Whether it returns a `Result`.
    pub fallible: bool,
    /// Whether it belongs to an `impl`.
    pub method: bool,
    /// The attribute's arguments.
    pub options: Options,
}

/// A run of statements that is compiled.
#[derive(Debug)]
pub struct Segment {
    /// Its graphs, one a path, in source order.
    pub paths: Vec<GraphModule>,
    /// The tokens behind each path's locations.
    pub spans: Vec<Vec<TokenStream>>,
    /// The locals that it reads. Tensors and numbers are numbered apart, each in this order.
    pub inputs: Vec<Param>,
    /// Consts and fields that it reads; their numbers follow those of the locals.
    pub reads: Vec<Read>,
    /// The statements as they were, with attributes for what is done twice.
    pub statements: Vec<Stmt>,
    /// The locals that its first results are assigned to.
    pub assigned: Vec<Ident>,
    /// The locals that its next results are bound to.
    pub bound: Vec<Bound>,
    /// Statements of numbers and borrows that are read behind it: they stand there again.
    pub again: Vec<Stmt>,
    /// What its last results are.
    pub gives: Gives,
}

/// A local that a segment binds.
#[derive(Clone, Debug)]
pub struct Bound {
    /// Its name.
    pub ident: Ident,
    /// Whether it is `mut`.
    pub mutable: bool,
}

/// What a segment gives besides the values of locals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Gives {
    /// Nothing.
    Nothing,
    /// The tensor that is the value of its block.
    Value,
    /// What the function returns.
    Function(ReturnTree),
}
