//! Closing loops: marks of the walk become the scalars and aggregates of each loop's body.
//!
//! While a body is walked, the scalars of the function are not all known yet. So a step's number, and the numbers and
//! parts of a loop's element, are marks; at the end each region gets, in this order, the step's number, the scalars of what
//! encloses it, and the numbers of its elements; and as aggregates its elements, and those of what encloses it.

use std::collections::BTreeMap;
use tensorplay_graph::{
    Aggregate, Arg, Callee, Expr, FieldPath, GraphModule, HostType, Node, NodeKind, ScalarInput, Schema, Step,
};

/// `FieldPath::root`, input or scalar of the element of a loop.
pub(crate) const ELEMENT: u32 = 1 << 31;
/// Where the number of a loop stands in a mark.
pub(crate) const LOOP_SHIFT: u32 = 20;
/// The scalar that is the number of a loop's step.
pub(crate) const INDEX: u32 = 1 << 30;

/// A loop of a graph, by its site.
#[derive(Clone, Debug)]
pub(crate) struct Looped {
    pub site: i64,
    /// Name, place and type of the element's numbers.
    pub hosts: Vec<(String, FieldPath, HostType)>,
}

/// What marks stand for in one region.
#[derive(Clone, Default)]
struct Scope {
    /// The number of loops around it.
    depth: u32,
    scalars: BTreeMap<u32, u32>,
    roots: BTreeMap<u32, u32>,
}

/// Closes every loop of a module.
pub(crate) fn close(module: &mut GraphModule, looped: &[Looped]) {
    let scope = Scope {
        depth: 0,
        scalars: (0..module.scalars.len() as u32).map(|i| (i, i)).collect(),
        roots: (0..module.aggregates.len() as u32).map(|i| (i, i)).collect(),
    };
    regions(module, &scope, looped);
}

/// The regions of a node; for a loop, its number and the lists that it is over.
type Regions = (Vec<usize>, Option<(i64, Vec<FieldPath>)>);

fn regions(module: &mut GraphModule, scope: &Scope, looped: &[Looped]) {
    let shared = GraphModule {
        graph: Default::default(),
        regions: Vec::new(),
        ..module.clone()
    };
    let calls: Vec<Regions> = module
        .graph
        .nodes
        .iter()
        .filter_map(|n| {
            if let Some(call) = n.region_call() {
                return Some((call.regions.to_vec(), None));
            }
            let link = n.link()?;
            let Callee::Body { regions, .. } = &link.callee else {
                return None;
            };
            let lists = link.callee.lists().cloned().collect();
            Some((regions.clone(), Some((link.site as i64, lists))))
        })
        .collect();
    for node in &mut module.graph.nodes {
        rename(node, scope, &shared);
    }
    for (numbers, body) in calls {
        for r in numbers {
            let Some(region) = module.regions.get_mut(r) else {
                continue;
            };
            region.file.clone_from(&shared.file);
            region.symbols.clone_from(&shared.symbols);
            region.locations.clone_from(&shared.locations);
            region.callees.clone_from(&shared.callees);
            match &body {
                None => {
                    region.scalars.clone_from(&shared.scalars);
                    region.aggregates.clone_from(&shared.aggregates);
                    guards(region, scope);
                    regions(region, scope, looped);
                }
                Some((site, lists)) => {
                    let inner = enter(
                        region,
                        scope,
                        &shared,
                        looped.iter().find(|l| l.site == *site),
                        lists,
                    );
                    guards(region, &inner);
                    regions(region, &inner, looped);
                }
            }
        }
    }
}

/// Gives the body of a loop its scalars and aggregates.
fn enter(
    region: &mut GraphModule,
    outer: &Scope,
    shared: &GraphModule,
    looped: Option<&Looped>,
    lists: &[FieldPath],
) -> Scope {
    let k = outer.depth;
    let mut scope = Scope {
        depth: k + 1,
        scalars: outer.scalars.iter().map(|(m, i)| (*m, i + 1)).collect(),
        roots: outer.roots.clone(),
    };
    let own = |s: &ScalarInput| ScalarInput {
        source: None,
        ..s.clone()
    };
    region.scalars = vec![ScalarInput {
        name: "step".into(),
        ty: HostType::Usize,
        source: None,
    }];
    region.scalars.extend(shared.scalars.iter().map(own));
    scope.scalars.insert(INDEX + k, 0);
    region.aggregates.clone_from(&shared.aggregates);
    let n = lists.len() as u32;
    scope.roots.values_mut().for_each(|i| *i += n);
    for (i, list) in lists.iter().enumerate() {
        scope.roots.insert(ELEMENT | k << LOOP_SHIFT | i as u32, i as u32);
        let schema = element_schema(shared, list, outer);
        let name = match n {
            1 => "element".to_string(),
            _ => format!("element_{i}"),
        };
        region.aggregates.insert(i, Aggregate { name, schema });
    }
    // which of the lists a part of an element is of
    let number = |root: u32| root & ((1 << LOOP_SHIFT) - 1);
    for (n, (name, path, ty)) in looped.into_iter().flat_map(|l| l.hosts.iter().enumerate()) {
        let mark = ELEMENT | k << LOOP_SHIFT | n as u32;
        scope.scalars.insert(mark, region.scalars.len() as u32);
        region.scalars.push(ScalarInput {
            name: name.clone(),
            ty: *ty,
            source: Some(FieldPath {
                root: number(path.root),
                ..path.clone()
            }),
        });
    }
    for path in &mut region.fields {
        path.root = number(path.root);
    }
    scope
}

fn element_schema(shared: &GraphModule, list: &FieldPath, outer: &Scope) -> Schema {
    let root = outer.roots.get(&list.root).copied().unwrap_or(list.root);
    let mut at = shared.aggregates.get(root as usize).map(|a| &a.schema);
    for step in &list.steps {
        at = match (at, step) {
            (Some(Schema::Struct(fields)), Step::Field(i)) => fields.get(*i as usize).map(|(_, s)| s),
            (Some(Schema::Option(inner)), Step::Some) | (Some(Schema::List(inner)), Step::Index(_)) => {
                Some(inner)
            }
            _ => None,
        };
    }
    match at {
        Some(Schema::List(inner)) => (**inner).clone(),
        _ => Schema::Opaque,
    }
}

fn guards(module: &mut GraphModule, scope: &Scope) {
    for g in &mut module.graph.guards {
        *g = expr(g, scope);
    }
}

fn expr(e: &Expr, scope: &Scope) -> Expr {
    let ty = |i: u32| {
        let mut found = None;
        e.visit_params(&mut |p, t| {
            if p == i {
                found = Some(t);
            }
        });
        found.unwrap_or(HostType::Number)
    };
    e.substituted(
        &|i| scope.scalars.get(&i).map(|n| Expr::Param(*n, ty(i))),
        &mut |v| v,
    )
}

fn arg(a: &mut Arg, scope: &Scope) {
    match a {
        Arg::Host(e) => *e = expr(e, scope),
        Arg::List(l) => l.iter_mut().for_each(|a| arg(a, scope)),
        Arg::Field(path) => {
            if let Some(root) = scope.roots.get(&path.root) {
                path.root = *root;
            }
        }
        Arg::Value(_) | Arg::None => {}
    }
}

/// Replaces the marks in a node, and hands a loop what its body takes.
fn rename(node: &mut Node, scope: &Scope, shared: &GraphModule) {
    let each = node
        .link()
        .is_some_and(|l| matches!(l.callee, Callee::Body { .. }));
    let NodeKind::Call(_, args) = &mut node.kind else {
        return;
    };
    args.iter_mut().for_each(|a| arg(a, scope));
    if each {
        let hosts = shared.scalars.iter().enumerate();
        args[4] = Arg::List(
            hosts
                .map(|(i, s)| Arg::Host(Expr::Param(i as u32, s.ty)))
                .collect(),
        );
        let roots = 0..shared.aggregates.len() as u32;
        args[5] = Arg::List(roots.map(|i| Arg::Field(FieldPath::root(i))).collect());
    }
}
