//! A loop whose body was walked becomes an `each` node; the paths through the body are its regions.

use super::Walk;
use super::callee::common;
use super::control::{Body, push_input};
use super::each::{Changed, Loop, LoopFrame, Over, Step};
use super::lent::Rewritten;
use crate::diagnostic::{Diagnostic, code};
use crate::kind::{Kind, Many};
use crate::loops::{ELEMENT, LOOP_SHIFT, Looped};
use crate::reads::Part;
use proc_macro2::TokenStream;
use syn::spanned::Spanned;
use tensorplay_graph::{
    Arg, Expr, FieldPath, GraphModule, HostBinary, HostType, NodeId, Op, TensorType, Value,
};

impl Walk {
    /// Cuts a body off, and keeps the nodes of tensors of outer elements.
    pub(super) fn cut_loop(
        &mut self,
        k: u32,
        mark: usize,
        region_mark: usize,
        outputs: Vec<Value>,
        guards: Vec<Expr>,
    ) -> (Body, Vec<Expr>, Vec<Option<NodeId>>) {
        let own = |n: u32| n & ELEMENT != 0 && (n & !ELEMENT) >> LOOP_SHIFT == k;
        let (body, moved) = self.cut_where(mark, region_mark, outputs, &|n| !own(n));
        let mut guards = guards;
        for g in &mut guards {
            g.map_values(&mut |v| moved(v));
        }
        for frame in &mut self.loops {
            for (_, node) in &mut frame.tensors {
                *node = node.map(|id| moved(id.into()).node);
            }
        }
        let elements = self
            .loops
            .last()
            .map(|f| f.tensors.iter().map(|(_, n)| *n).collect());
        (body, guards, elements.unwrap_or_default())
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn push_each(
        &mut self,
        f: &Loop<'_>,
        over: Over,
        Changed {
            carried,
            lists,
            parts,
            ..
        }: Changed,
        mut types: Vec<TensorType>,
        steps: Vec<Step>,
        frame: LoopFrame,
    ) -> Kind {
        let mut captured: Vec<Value> = Vec::new();
        for step in &steps {
            let mut read = |v: Value| {
                if v.node.index() < step.body.mark && !captured.contains(&v) {
                    captured.push(v);
                }
            };
            let nodes = step.body.nodes.iter().skip(carried.len());
            nodes.for_each(|n| n.args().iter().for_each(|a| a.values(&mut read)));
            step.body.outputs.iter().for_each(|v| read(*v));
            step.guards.iter().for_each(|g| g.values(&mut read));
        }
        // what is added to a list has the type that all paths have in common; a step may be of any size
        for k in 0..2 * lists.len() + parts.len() {
            let mut all = steps.iter().map(|s| {
                let v = s.body.outputs[carried.len() + k];
                s.body.type_of(v, &self.builder.module.graph)
            });
            let mut ty = all.next().unwrap_or_default();
            all.for_each(|other| common(&mut ty, &other));
            types.push(ty);
        }
        let first = self.builder.module.regions.len();
        let n = steps.len();
        for (i, step) in steps.into_iter().enumerate() {
            let name = if n == 1 {
                "body".to_string()
            } else {
                format!("body_{i}")
            };
            let region = self.loop_region(name, carried.len(), &captured, step, &frame);
            self.builder.module.regions.push(region);
        }
        let site = self.site();
        let count = match &over {
            // only lists ask
            _ if lists.is_empty() => Expr::int(0),
            Over::While(_) => Expr::int(0),
            Over::Range { count, .. } => count.clone(),
            Over::Lists { lists, .. } => {
                let lengths = lists.iter().map(|part| {
                    let name = format!("{}.len()", part.name);
                    let path = part.path.clone();
                    self.read_part_host(Part { path, name }, HostType::Usize)
                });
                let shortest = lengths.reduce(|a, b| Expr::Binary(HostBinary::Min, Box::new(a), Box::new(b)));
                shortest.unwrap_or(Expr::int(0))
            }
        };
        let at = f.head.clone();
        let paths: Vec<FieldPath> = match &over {
            Over::Lists { lists, .. } => lists.iter().map(|l| l.path.clone()).collect(),
            Over::While(_) | Over::Range { .. } => Vec::new(),
        };
        let over = match (&over, paths.as_slice()) {
            (Over::Range { count, .. }, _) => Arg::Host(count.clone()),
            (Over::While(_), _) => Arg::None,
            (Over::Lists { .. }, [path]) => Arg::Field(path.clone()),
            (Over::Lists { .. }, paths) => Arg::List(paths.iter().cloned().map(Arg::Field).collect()),
        };
        self.at(f.word.span(), at.clone());
        self.looped.push(Looped {
            site,
            hosts: frame
                .hosts
                .into_iter()
                .map(|(p, t)| (p.name, p.path, t))
                .collect(),
        });
        let values = |l: &mut dyn Iterator<Item = Value>| Arg::List(l.map(Arg::Value).collect());
        let args = vec![
            over,
            Arg::int(site),
            values(&mut carried.iter().map(|(_, v)| *v)),
            values(&mut captured.iter().copied()),
            Arg::List(Vec::new()),
            Arg::List(Vec::new()),
            Arg::ints((first..first + n).map(|r| r as i64)),
        ];
        match self.builder.call_regions(Op::Each, args, types) {
            Ok(values) => {
                let mut added = values[carried.len()..].to_vec();
                let new = added.split_off(2 * lists.len());
                self.rewrite(&paths, &parts, &new, &f.head);
                for ((slot, _), v) in carried.iter().zip(values) {
                    self.fill(slot, Kind::Tensor(v));
                }
                for (name, pair) in lists.iter().zip(added.chunks(2)) {
                    if let (Some(Kind::List(kinds)), [list, rows]) = (self.scope.get(name), pair) {
                        let mut kinds = kinds.clone();
                        kinds.push(Kind::Many(Many {
                            list: *list,
                            rows: *rows,
                            count: count.clone(),
                        }));
                        self.scope.assign(name, Kind::List(kinds));
                    }
                }
                Kind::unit()
            }
            Err(e) => self.op_error(&e, &[], &[], at),
        }
    }

    /// The loop gave parts of the elements of lists new values.
    fn rewrite(&mut self, lists: &[FieldPath], parts: &[Part], new: &[Value], at: &TokenStream) {
        if parts.is_empty() {
            return;
        }
        if !self.loops.is_empty() {
            let message = "an assignment to the elements of a list cannot be captured yet in a loop around the loop over it";
            self.fail(
                Diagnostic::new(code::STATEMENT, at, message)
                    .help("assign them in a loop of their own, or push the new values to a list"),
            );
        }
        for (part, values) in parts.iter().zip(new) {
            let number = (part.path.root & ((1 << LOOP_SHIFT) - 1)) as usize;
            self.rewritten.push(Rewritten {
                list: lists[number].clone(),
                part: part.path.steps.clone(),
                values: *values,
            });
        }
    }

    fn loop_region(
        &self,
        name: String,
        carried: usize,
        captured: &[Value],
        step: Step,
        frame: &LoopFrame,
    ) -> GraphModule {
        let Step {
            body,
            guards,
            elements,
        } = step;
        let own = carried + captured.len();
        let inputs = own + frame.tensors.len();
        // the nodes of the element's tensors are inputs of the region, the others follow them
        let mut place: Vec<NodeId> = Vec::with_capacity(body.nodes.len());
        let mut next = inputs;
        for (i, _) in body.nodes.iter().enumerate() {
            let id = NodeId((body.mark + i) as u32);
            let element = elements.iter().position(|e| *e == Some(id));
            place.push(match element {
                _ if i < carried => NodeId(i as u32),
                Some(e) => NodeId((own + e) as u32),
                None => {
                    next += 1;
                    NodeId(next as u32 - 1)
                }
            });
        }
        let to = |v: Value| match v.node.index().checked_sub(body.mark) {
            Some(i) => Value { node: place[i], ..v },
            None => {
                let k = captured.iter().position(|c| *c == v).unwrap_or(0);
                NodeId((carried + k) as u32).into()
            }
        };
        let mut graph = self.region_inputs(&body.nodes[..carried], captured);
        for (part, _) in &frame.tensors {
            push_input(&mut graph, &part.name, TensorType::default());
        }
        for (i, mut node) in body.nodes.into_iter().enumerate().skip(carried) {
            let id = NodeId((body.mark + i) as u32);
            if elements.contains(&Some(id)) {
                continue;
            }
            node.args_mut()
                .iter_mut()
                .for_each(|a| a.map_values(&mut |v| to(v)));
            graph.push(node);
        }
        graph.outputs = body.outputs.into_iter().map(to).collect();
        graph.guards = guards
            .into_iter()
            .map(|mut g| {
                g.map_values(&mut |v| to(v));
                g
            })
            .collect();
        GraphModule {
            name,
            specs: vec![None; inputs],
            fields: frame.tensors.iter().map(|(p, _)| p.path.clone()).collect(),
            graph,
            regions: body.regions,
            ..GraphModule::default()
        }
    }
}
