//! `Reads`: what a function reads besides its parameters, and what it calls, over all its paths.

use crate::words::word;
use proc_macro2::TokenStream;
use tensorplay_graph::{FieldPath, GraphModule, HostType, Node, NodeKind, ScalarInput, TensorType};

/// A const, a field, or a part of a struct that a call reads when it starts; it follows the parameters of its sort.
#[derive(Clone, Debug)]
pub enum Read {
    /// A tensor: `self.w`.
    Tensor(TokenStream),
    /// A number: `EPS`, `self.eps`.
    Host(TokenStream),
    /// What a parameter of the function is asked for: `x.is_contiguous()`, `mode == Mode::Train`.
    Asked(TokenStream),
    /// A tensor of an aggregate.
    PartTensor(Part),
    /// A number, a flag or a length of an aggregate.
    PartHost(Part),
}

/// A part of an aggregate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Where it is.
    pub path: FieldPath,
    /// The name in graphs.
    pub name: String,
}

impl Read {
    /// Whether it is a tensor.
    pub fn is_tensor(&self) -> bool {
        matches!(self, Read::Tensor(_) | Read::PartTensor(_))
    }

    /// Whether it is read where the parameters and `self` are in reach, and nowhere else.
    pub fn of_a_call(&self) -> bool {
        match self {
            Read::Tensor(_) | Read::Asked(_) => true,
            Read::Host(tokens) => word(tokens.clone(), "self").is_some(),
            Read::PartTensor(_) | Read::PartHost(_) => false,
        }
    }

    /// The expression that reads it, unless it is a part of an aggregate.
    pub fn tokens(&self) -> Option<&TokenStream> {
        match self {
            Read::Tensor(tokens) | Read::Host(tokens) | Read::Asked(tokens) => Some(tokens),
            Read::PartTensor(_) | Read::PartHost(_) => None,
        }
    }

    fn is(&self, other: &Read) -> bool {
        match (self, other) {
            (Read::Tensor(a), Read::Tensor(b))
            | (Read::Host(a), Read::Host(b))
            | (Read::Asked(a), Read::Asked(b)) => a.to_string() == b.to_string(),
            (Read::PartTensor(a), Read::PartTensor(b)) | (Read::PartHost(a), Read::PartHost(b)) => {
                a.path == b.path
            }
            _ => false,
        }
    }
}

/// A read that a walk met.
#[derive(Clone, Debug)]
pub(crate) struct KnownRead {
    pub read: Read,
    /// As the graph calls it.
    pub name: String,
    /// What its first use takes a number for.
    pub ty: HostType,
}

/// A function that a graph calls when it is bound.
#[derive(Clone, Debug)]
pub struct CalleeRef {
    /// The path as written.
    pub name: String,
    /// The expression that gives the record of the function.
    pub reach: TokenStream,
}

/// What the walks of a function read and call, in the order in which they met it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reads {
    pub list: Vec<KnownRead>,
    pub callees: Vec<CalleeRef>,
}

impl Reads {
    /// The number of reads of the same sort, which are numbered apart.
    pub fn count(&self, tensors: bool) -> usize {
        self.list.iter().filter(|r| r.read.is_tensor() == tensors).count()
    }

    /// Whether some are read where the parameters are in reach, and nowhere else.
    pub fn of_a_call(&self) -> bool {
        self.list.iter().any(|r| r.read.of_a_call())
    }

    /// The position of an equal read among those of its sort.
    pub fn position(&self, read: &Read) -> Option<usize> {
        let of_sort = self
            .list
            .iter()
            .filter(|r| r.read.is_tensor() == read.is_tensor());
        of_sort.map(|r| &r.read).position(|r| r.is(read))
    }

    /// The number of a callee.
    pub fn callee(&mut self, name: &str, reach: TokenStream) -> usize {
        let text = reach.to_string();
        let known = self.callees.iter().position(|c| c.reach.to_string() == text);
        known.unwrap_or_else(|| {
            self.callees.push(CalleeRef {
                name: name.to_string(),
                reach,
            });
            self.callees.len() - 1
        })
    }

    /// Consts and fields, tensors first, each sort in order.
    pub fn written(&self) -> Vec<Read> {
        let own = self
            .list
            .iter()
            .map(|r| r.read.clone())
            .filter(|r| r.tokens().is_some());
        let (tensors, hosts): (Vec<_>, Vec<_>) = own.partition(Read::is_tensor);
        tensors.into_iter().chain(hosts).collect()
    }

    /// Adds one read to a graph.
    pub fn add(read: &KnownRead, module: &mut GraphModule, location: u32) {
        let name = read.name.clone();
        if !read.read.is_tensor() {
            let source = match &read.read {
                Read::PartHost(part) => Some(part.path.clone()),
                _ => None,
            };
            let ty = read.ty;
            module.scalars.push(ScalarInput { name, ty, source });
            return;
        }
        let index = module.graph.inputs.len() as u32;
        let id = module.graph.push(Node {
            kind: NodeKind::Input(index),
            name,
            location,
            types: vec![TensorType::default()],
            interior: false,
        });
        module.graph.inputs.push(id);
        module.specs.push(None);
        if let Read::PartTensor(part) = &read.read {
            module.fields.push(part.path.clone());
        }
    }

    /// Adds the inputs and scalars that later walks met to the graph of a function with so many `tensors` and
    /// `scalars` among its parameters.
    pub fn complete(&self, module: &mut GraphModule, tensors: usize, scalars: usize) {
        let known = (
            module.graph.inputs.len() - tensors,
            module.scalars.len() - scalars,
        );
        for (sort, known) in [(true, known.0), (false, known.1)] {
            let of_sort = self.list.iter().filter(|r| r.read.is_tensor() == sort);
            of_sort.skip(known).for_each(|r| Reads::add(r, module, 0));
        }
        module.callees = self.callees.iter().map(|c| c.name.clone()).collect();
    }
}
