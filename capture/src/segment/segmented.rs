//! `Segmented`: what becomes of a function that is not captured whole.

use super::Break;
use crate::Options;
use crate::parameter::Leaf;
use crate::reads::{CalleeRef, Read};
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
    /// Whether a parameter is of a type of which no value can be made up.
    pub opaque: bool,
    /// Whether it returns a `Result`.
    pub fallible: bool,
    /// Whether it belongs to an `impl`.
    pub method: bool,
    /// The type whose `impl` that is, where capture sees it.
    pub owner: Option<String>,
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
    pub inputs: Vec<Input>,
    /// Consts and fields that it reads; their numbers follow those of the locals.
    pub reads: Vec<Read>,
    /// Whether consts are read with the segment's record, rather than at each call.
    pub reads_consts: bool,
    /// The receiver, if it is a struct of a `#[model]` module of which it reads a part: its parts follow.
    pub receiver: Option<TokenStream>,
    /// The functions that it calls.
    pub callees: Vec<CalleeRef>,
    /// For each path, how many results there are where the type does not say.
    pub codes: Vec<Vec<u32>>,
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

/// A tensor or number of a local that a segment reads.
#[derive(Clone, Debug)]
pub struct Input {
    /// The local.
    pub name: Ident,
    /// How it is read.
    pub leaf: Leaf,
    /// Whether its type is written in the signature.
    pub written: bool,
    /// Whether some path uses it; nothing else of it may be in reach any more.
    pub used: bool,
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
