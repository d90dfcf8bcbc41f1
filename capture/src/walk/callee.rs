//! Calls of captured functions: regions are kept as one unit, other graphs join that of the caller.

use super::Walk;
use crate::captured;
use crate::diagnostic::{Diagnostic, code};
use crate::export::{ExportParam, FnExport, TypeExport};
use crate::kind::{Kind, PartOf, Record};
use crate::location::tokens;
use crate::model::ModelFn;
use crate::reads::Part;
use crate::returns::ReturnTree;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use std::rc::Rc;
use syn::{Expr as Syntax, ExprMethodCall, GenericArgument, Path, PathArguments, Type, parse_quote};
use tensorplay_graph::{
    Arg, EvalArg, Expr, GraphModule, Host, HostType, Interpreter, Node, NodeId, NodeKind, OPEN_LIST, Op,
    OpError, TensorType, TypeError, TypeInterpreter, Value, copy_call,
};

/// The arguments of a call, sorted as the callee takes them.
struct Arguments {
    tensors: Vec<Option<Value>>,
    hosts: Vec<Expr>,
    receiver: Option<PartOf>,
}

/// What the last segment of a path has in angle brackets.
pub(super) fn consts_of(path: &Path) -> Vec<GenericArgument> {
    match path.segments.last().map(|s| &s.arguments) {
        Some(PathArguments::AngleBracketed(a)) => a.args.iter().cloned().collect(),
        _ => Vec::new(),
    }
}

/// Arguments for the const parameters of a function that is only asked for its record, which is one for all.
fn any_consts(export: &FnExport) -> Option<TokenStream> {
    let values: Vec<TokenStream> = export
        .params
        .iter()
        .filter_map(|p| match p {
            ExportParam::Const(HostType::Bool) => Some(quote!(true)),
            ExportParam::Const(_) => Some(quote!(1)),
            _ => None,
        })
        .collect();
    (!values.is_empty()).then(|| quote!(::<#(#values),*>))
}

/// The same of a method call.
pub(super) fn turbofish(m: &ExprMethodCall) -> Vec<GenericArgument> {
    let args = m.turbofish.iter().flat_map(|t| &t.args);
    args.cloned().collect()
}

impl Walk {
    /// A call of a region of the same module.
    pub(super) fn region_call(
        &mut self,
        f: &Rc<ModelFn>,
        receiver: Option<(String, PartOf)>,
        args: &[&Syntax],
        consts: &[GenericArgument],
        whole: TokenStream,
        name: &Ident,
    ) -> Kind {
        let owner = receiver.as_ref().map(|(s, _)| s.clone());
        let path = match &owner {
            Some(s) => format!("{s}::{name}"),
            None => name.to_string(),
        };
        let known = self.env.regions.borrow().get(&path).cloned();
        let export = match known {
            Some(export) => export,
            None => {
                self.env.regions.borrow_mut().insert(path.clone(), None);
                let export = captured::of_module(&self.env, f, owner.as_deref()).map(Rc::new);
                self.env.regions.borrow_mut().insert(path.clone(), export.clone());
                export
            }
        };
        let args = self.arguments(export.as_deref(), receiver.map(|(_, p)| p), args, consts, name);
        let (Some(export), Some(args)) = (export, args) else {
            // the region's own attribute reports what is wrong with it
            return Kind::Unknown;
        };
        let reach = match &owner {
            Some(s) => {
                let (ty, meta) = (format_ident!("{s}"), format_ident!("__tp_meta_{name}"));
                quote!(#ty::#meta())
            }
            None => {
                let any = any_consts(&export);
                quote!(#name!(@function #name #any))
            }
        };
        self.invoke(&export, &path, reach, args, whole, name)
    }

    /// A method of a layer from elsewhere.
    pub(super) fn foreign_method(
        &mut self,
        t: &TypeExport,
        ty: &Path,
        part: PartOf,
        m: &ExprMethodCall,
        args: &[&Syntax],
    ) -> Kind {
        let name = &m.method;
        let Some(export) = t.methods.get(&name.to_string()) else {
            args.iter().for_each(|a| {
                self.expr(a);
            });
            let message = format!("the method `{name}` of this layer is not captured");
            let d = Diagnostic::new(code::METHOD, name, message);
            let captured: Vec<String> = t.methods.keys().map(|m| format!("`{m}`")).collect();
            return self.fail(match &captured[..] {
                [] => d.help("call it outside of the compiled function"),
                names => d.help(format!(
                    "its captured methods: {}; call others outside of the compiled function",
                    names.join(", ")
                )),
            });
        };
        let Some(args) = self.arguments(Some(export), Some(part), args, &turbofish(m), name) else {
            return Kind::Unknown;
        };
        if export.is_closed() {
            return self.splice(export, args, tokens(m), name);
        }
        let meta = format_ident!("__tp_meta_{name}");
        let path = format!("{}::{name}", quote!(#ty)).replace(' ', "");
        self.invoke(export, &path, quote!(#ty::#meta()), args, tokens(m), name)
    }

    /// A call of a function from elsewhere.
    pub(super) fn foreign_function(
        &mut self,
        export: &FnExport,
        path: &Path,
        args: &[&Syntax],
        whole: TokenStream,
    ) -> Kind {
        let Some(name) = path.segments.last().map(|s| s.ident.clone()) else {
            return Kind::Unknown;
        };
        let (consts, any) = (consts_of(path), any_consts(export));
        let Some(args) = self.arguments(Some(export), None, args, &consts, &name) else {
            return Kind::Unknown;
        };
        if export.is_closed() {
            return self.splice(export, args, whole, &name);
        }
        let mut twin = path.clone();
        twin.segments
            .iter_mut()
            .for_each(|s| s.arguments = Default::default());
        let shown = quote!(#twin).to_string().replace(' ', "");
        self.invoke(
            export,
            &shown,
            quote!(#twin!(@function #twin #any)),
            args,
            whole,
            &name,
        )
    }

    fn arguments(
        &mut self,
        export: Option<&FnExport>,
        receiver: Option<PartOf>,
        args: &[&Syntax],
        consts: &[GenericArgument],
        name: &Ident,
    ) -> Option<Arguments> {
        let kinds: Vec<(Kind, TokenStream)> = args.iter().map(|a| (self.expr(a), tokens(*a))).collect();
        let export = export?;
        if export.codes.iter().flatten().any(|code| code & OPEN_LIST != 0) {
            let message = format!(
                "`{name}` returns a list whose length only a call knows, so it cannot be captured yet in another function"
            );
            self.fail(
                Diagnostic::new(code::CALL, name, message)
                    .help("return the tensors as one, as in `Tensor::stack(&list, 0)`"),
            );
            return None;
        }
        let wanted = export.params.iter().filter(|p| !p.is_const()).count();
        if kinds.len() != wanted {
            let message = format!("`{name}` takes {wanted} arguments, {} given", kinds.len());
            self.fail(
                Diagnostic::new(code::ARGUMENT_COUNT, name, message).help("give one for each parameter"),
            );
            return None;
        }
        let mut out = Arguments {
            tensors: Vec::new(),
            hosts: Vec::new(),
            receiver,
        };
        let mut complete = true;
        let mut consts = consts.iter();
        let mut kinds = kinds.into_iter();
        for param in &export.params {
            if let ExportParam::Const(ty) = param {
                match self.const_argument(consts.next(), *ty, name) {
                    Some(e) => out.hosts.push(e),
                    None => complete = false,
                }
                continue;
            }
            let Some((kind, at)) = kinds.next() else { break };
            match param {
                ExportParam::Const(_) => {}
                ExportParam::Tensor => match self.as_tensor(kind, &at) {
                    Some(v) => out.tensors.push(Some(v)),
                    None => complete = false,
                },
                ExportParam::Host(t) => match self.as_host(kind, &at, *t) {
                    Some(e) => out.hosts.push(e),
                    None => complete = false,
                },
                ExportParam::Other => {
                    self.fail(
                        Diagnostic::new(
                            code::ARGUMENT_KIND,
                            &at,
                            "a captured function cannot pass a value of this type yet",
                        )
                        .help("pass tensors, numbers, and `Option`s of tensors"),
                    );
                    complete = false;
                }
                ExportParam::OptTensor => {
                    let value = match self.present(kind) {
                        Some(inner) => self.as_tensor(inner, &at),
                        None => None,
                    };
                    out.hosts.push(Expr::Literal(Host::Bool(value.is_some())));
                    out.tensors.push(value);
                }
            }
        }
        complete.then_some(out)
    }

    /// An argument in angle brackets.
    pub(super) fn const_argument(
        &mut self,
        written: Option<&GenericArgument>,
        ty: HostType,
        name: &Ident,
    ) -> Option<Expr> {
        let e: Syntax = match written {
            Some(GenericArgument::Const(e)) => e.clone(),
            // a path may be a type, as far as tokens tell
            Some(GenericArgument::Type(Type::Path(p))) => parse_quote!(#p),
            _ => {
                let message = format!("the const arguments of `{name}` are not written");
                self.fail(
                    Diagnostic::new(code::ARGUMENT_COUNT, name, message)
                        .help(format!("write them out, as in {name}::<8>(..)")),
                );
                return None;
            }
        };
        let e = match &e {
            Syntax::Block(b) => match b.block.stmts.as_slice() {
                [syn::Stmt::Expr(e, None)] => e.clone(),
                _ => e,
            },
            _ => e,
        };
        let kind = self.expr(&e);
        let e = self.as_host(kind, &tokens(&e), ty)?;
        Some(match e.host_type() {
            HostType::IntLiteral => Expr::Cast(ty, Box::new(e)),
            _ => e,
        })
    }

    /// Keeps the callee as one node.
    fn invoke(
        &mut self,
        export: &FnExport,
        path: &str,
        reach: TokenStream,
        args: Arguments,
        whole: TokenStream,
        name: &Ident,
    ) -> Kind {
        if self.in_closure > 0 {
            let message =
                format!("the call of `{name}` in a closure of `cond` or `while_loop` cannot be captured yet");
            return self
                .fail(Diagnostic::new(code::CALL, name, message).help("call it outside of the closure"));
        }
        if export.at_call {
            let message = format!("`{name}` reads consts, or asks about its arguments, when it is called");
            return self.fail(Diagnostic::new(code::CALL, name, message).help(
                "pass what it reads as arguments, or read only consts and make it a `#[nested_compile_region]`",
            ));
        }
        if export.codes.windows(2).any(|w| w[0] != w[1]) {
            let message = format!(
                "`{name}` returns different numbers of tensors on its paths, which cannot be captured yet"
            );
            return self.fail(
                Diagnostic::new(code::CALL, name, message).help("return as many tensors on every path"),
            );
        }
        self.at(name.span(), whole.clone());
        let types: Vec<TensorType> = args
            .tensors
            .iter()
            .map(|v| v.map(|v| self.builder.ty(v).clone()).unwrap_or_default())
            .collect();
        let results = match results(export, &types) {
            Ok(types) => types,
            Err(e) => return self.op_error(&e, &[], &[], whole),
        };
        let number = self.reads.callee(path, reach);
        let list = |l: Vec<Arg>| Arg::List(l);
        let tensors = args.tensors.into_iter().map(|v| v.map_or(Arg::None, Arg::Value));
        let node_args = vec![
            Arg::int(number as i64),
            Arg::int(self.site()),
            list(tensors.collect()),
            list(args.hosts.into_iter().map(Arg::Host).collect()),
            list(args.receiver.into_iter().map(|p| Arg::Field(p.path)).collect()),
        ];
        match self.builder.call_regions(Op::Invoke, node_args, results) {
            Ok(values) => {
                let codes = export.codes.first().cloned().unwrap_or_default();
                let kind = rebuilt(&export.returns, &mut values.into_iter(), &mut codes.into_iter());
                if export.fallible {
                    Kind::Try(Box::new(kind))
                } else {
                    kind
                }
            }
            Err(e) => self.op_error(&e, &[], &[], whole),
        }
    }

    /// The number of a call, of its own in the function.
    pub(super) fn site(&mut self) -> i64 {
        self.sites += 1;
        self.sites - 1
    }

    /// Copies the path of the callee that this path takes.
    fn splice(&mut self, export: &FnExport, args: Arguments, whole: TokenStream, name: &Ident) -> Kind {
        self.at(name.span(), whole.clone());
        let location = self.builder.location;
        for (number, path) in export.paths.iter().enumerate() {
            let mut copy = Copy {
                map: Vec::with_capacity(path.graph.nodes.len()),
                hosts: self.callee_scalars(path, &args),
            };
            let mut holds = true;
            for guard in &path.graph.guards {
                let mut last = None;
                guard.values(&mut |v| last = last.max(Some(v.node)));
                if let Some(last) = last
                    && let Err(e) = self.copy_up_to(&mut copy, path, &args, last.index() + 1, location)
                {
                    return self.op_error(&e, &[], &[], whole);
                }
                holds = self.decide(copy.expr(guard));
                if !holds {
                    break;
                }
            }
            if !holds {
                continue;
            }
            if let Err(e) = self.copy_up_to(&mut copy, path, &args, path.graph.nodes.len(), location) {
                return self.op_error(&e, &[], &[], whole);
            }
            let values: Vec<Value> = path.graph.outputs.iter().map(|v| copy.value(*v)).collect();
            let codes = export.codes.get(number).cloned().unwrap_or_default();
            let kind = rebuilt(&export.returns, &mut values.into_iter(), &mut codes.into_iter());
            return if export.fallible {
                Kind::Try(Box::new(kind))
            } else {
                kind
            };
        }
        Kind::Unknown
    }

    fn callee_scalars(&mut self, path: &GraphModule, args: &Arguments) -> Vec<Expr> {
        let mut own = args.hosts.iter().cloned();
        let mut out = Vec::with_capacity(path.scalars.len());
        for s in &path.scalars {
            out.push(match (&s.source, &args.receiver) {
                (Some(source), Some(part)) => {
                    let read = within(part, source, &s.name);
                    self.read_part_host(read, s.ty)
                }
                _ => own.next().unwrap_or(Expr::Literal(Host::Bool(false))),
            });
        }
        out
    }

    fn copy_up_to(
        &mut self,
        copy: &mut Copy,
        path: &GraphModule,
        args: &Arguments,
        end: usize,
        location: u32,
    ) -> Result<(), OpError> {
        let own = path.graph.inputs.len() - path.fields.len();
        for node in &path.graph.nodes[copy.map.len()..end.max(copy.map.len())] {
            let values = match &node.kind {
                NodeKind::Input(i) => match (*i as usize).checked_sub(own) {
                    None => args
                        .tensors
                        .get(*i as usize)
                        .copied()
                        .flatten()
                        .into_iter()
                        .collect(),
                    Some(k) => match &args.receiver {
                        Some(part) => {
                            let read = within(part, &path.fields[k], &node.name);
                            vec![self.read_part(read, part.tokens.clone())]
                        }
                        None => Vec::new(),
                    },
                },
                NodeKind::Call(op, node_args) => {
                    let node_args: Vec<Arg> = node_args.iter().map(|a| copy.arg(a)).collect();
                    self.builder.location = location;
                    copy_call(&mut self.builder, node, *op, node_args)?
                }
            };
            copy.map.push(values);
        }
        Ok(())
    }
}

/// A part of the callee's receiver, as the caller reaches it.
fn within(part: &PartOf, source: &tensorplay_graph::FieldPath, name: &str) -> Part {
    let mut path = part.path.clone();
    path.steps.extend(source.steps.iter().copied());
    let rest = name.strip_prefix("self").unwrap_or(name);
    Part {
        path,
        name: format!("{}{rest}", part.name),
    }
}

/// From the values of a callee's graph to those of the caller's.
struct Copy {
    map: Vec<Vec<Value>>,
    hosts: Vec<Expr>,
}

impl Copy {
    fn value(&self, v: Value) -> Value {
        let gone = Value {
            node: NodeId(u32::MAX),
            index: 0,
        };
        let of = self.map.get(v.node.index()).and_then(|l| l.get(v.index as usize));
        of.copied().unwrap_or(gone)
    }

    fn expr(&self, e: &Expr) -> Expr {
        e.substituted(&|i| self.hosts.get(i as usize).cloned(), &mut |v| self.value(v))
    }

    fn arg(&self, a: &Arg) -> Arg {
        match a {
            Arg::Value(v) => Arg::Value(self.value(*v)),
            Arg::Host(e) => Arg::Host(self.expr(e)),
            Arg::List(l) => Arg::List(l.iter().map(|a| self.arg(a)).collect()),
            Arg::Field(p) => Arg::Field(p.clone()),
            Arg::None => Arg::None,
        }
    }
}

/// The result types of a callee, over the paths that may be taken.
fn results(export: &FnExport, inputs: &[TensorType]) -> Result<Vec<TensorType>, OpError> {
    let mut all: Option<Vec<TensorType>> = None;
    let mut error = None;
    for path in &export.paths {
        let mut types = inputs.to_vec();
        types.resize(path.graph.inputs.len(), TensorType::default());
        match Types.run(&path.graph, types, &[]) {
            Ok(found) => match &mut all {
                None => all = Some(found),
                Some(all) => all.iter_mut().zip(&found).for_each(|(a, b)| common(a, b)),
            },
            Err(TypeError::Op(_, e)) => error = error.or(Some(e)),
            Err(TypeError::Eval(_)) => {}
        }
    }
    match (all, error) {
        (Some(all), _) => Ok(all),
        (None, Some(e)) => Err(e),
        (None, None) => Ok(vec![TensorType::default(); export.returns.len().unwrap_or(0)]),
    }
}

/// What two types have in common.
pub(super) fn common(a: &mut TensorType, b: &TensorType) {
    use tensorplay_graph::Dim;
    if a.dtype != b.dtype {
        a.dtype = None;
    }
    match (&mut a.shape, &b.shape) {
        (Some(x), Some(y)) if x.len() == y.len() => {
            for (p, q) in x.iter_mut().zip(y) {
                if p != q {
                    *p = Dim::Unknown;
                }
            }
        }
        (shape, _) => *shape = None,
    }
}

/// Shape evaluation that takes the types of calls as they were recorded.
struct Types;

impl Interpreter<TensorType> for Types {
    type Error = TypeError;

    fn call(
        &mut self,
        id: NodeId,
        node: &Node,
        op: Op,
        args: Vec<EvalArg<TensorType>>,
    ) -> Result<Vec<TensorType>, TypeError> {
        match node.link().is_some() || node.region_call().is_some() {
            true => Ok(node.types.clone()),
            false => TypeInterpreter { symbols: &[] }.call(id, node, op, args),
        }
    }

    fn unknown(&mut self, _: NodeId, _: Op, _: &Expr) -> Result<EvalArg<TensorType>, TypeError> {
        Ok(EvalArg::Unknown)
    }
}

/// The tree of a return type with these tensors; `codes` tell how many there are where the type does not say.
fn rebuilt(
    tree: &ReturnTree,
    values: &mut dyn Iterator<Item = Value>,
    codes: &mut dyn Iterator<Item = u32>,
) -> Kind {
    match tree {
        ReturnTree::Tensor => values.next().map_or(Kind::Unknown, Kind::Tensor),
        ReturnTree::Tuple(parts) => Kind::List(parts.iter().map(|t| rebuilt(t, values, codes)).collect()),
        ReturnTree::Struct(name, fields) => {
            let fields = fields.iter().map(|(n, t)| (n.clone(), rebuilt(t, values, codes)));
            Kind::Record(Record {
                name: name.clone(),
                fields: fields.collect(),
            })
        }
        ReturnTree::Array(of, n) => Kind::List((0..*n).map(|_| rebuilt(of, values, codes)).collect()),
        ReturnTree::Vec(of) => {
            let n = codes.next().unwrap_or(0);
            Kind::List((0..n).map(|_| rebuilt(of, values, codes)).collect())
        }
        ReturnTree::Option(of) => match codes.next() {
            Some(1) => Kind::Some(Box::new(rebuilt(of, values, codes))),
            _ => Kind::None,
        },
    }
}
