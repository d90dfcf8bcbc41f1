//! `Read`: what a call reads when it starts, besides its tensors and numbers among the parameters.

use proc_macro2::TokenStream;
use tensorplay_graph::{GraphModule, HostType, Node, NodeKind, ScalarInput, TensorType};

/// A const or field that a call reads when it starts; it follows the parameters of its sort.
#[derive(Clone, Debug)]
pub enum Read {
    /// A tensor: `self.w`.
    Tensor(TokenStream),
    /// A number: `EPS`, `self.eps`.
    Host(TokenStream),
}

impl Read {
    /// The expression that reads it.
    pub fn tokens(&self) -> &TokenStream {
        let (Read::Tensor(tokens) | Read::Host(tokens)) = self;
        tokens
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

/// What the walks of a function read, in the order in which they met it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reads(pub Vec<KnownRead>);

impl Reads {
    /// The reads of the same sort, which are numbered apart.
    pub fn of_sort<'a>(&'a self, read: &Read) -> impl Iterator<Item = &'a KnownRead> + use<'a> {
        let tensor = matches!(read, Read::Tensor(_));
        self.0
            .iter()
            .filter(move |r| matches!(r.read, Read::Tensor(_)) == tensor)
    }

    /// The position of an equal read among those of its sort.
    pub fn position(&self, read: &Read) -> Option<usize> {
        let key = read.tokens().to_string();
        self.of_sort(read)
            .position(|r| r.read.tokens().to_string() == key)
    }

    /// Tensors first, each sort in order.
    pub fn into_list(self) -> Vec<Read> {
        let (tensors, hosts): (Vec<_>, Vec<_>) = self
            .0
            .into_iter()
            .map(|r| r.read)
            .partition(|r| matches!(r, Read::Tensor(_)));
        tensors.into_iter().chain(hosts).collect()
    }

    /// Adds the inputs and scalars that later walks met to the graph of a function with so many `tensors` and
    /// `scalars` among its parameters.
    pub fn complete(&self, module: &mut GraphModule, tensors: usize, scalars: usize) {
        let is_tensor = |r: &&KnownRead| matches!(r.read, Read::Tensor(_));
        let known = module.graph.inputs.len() - tensors;
        for r in self.0.iter().filter(is_tensor).skip(known) {
            let index = module.graph.inputs.len() as u32;
            let id = module.graph.push(Node {
                kind: NodeKind::Input(index),
                name: r.name.clone(),
                location: 0,
                types: vec![TensorType::default()],
                interior: false,
            });
            module.graph.inputs.push(id);
            module.specs.push(None);
        }
        let known = module.scalars.len() - scalars;
        for r in self.0.iter().filter(|r| !is_tensor(r)).skip(known) {
            module.scalars.push(ScalarInput {
                name: r.name.clone(),
                ty: r.ty,
                source: None,
            });
        }
    }
}
