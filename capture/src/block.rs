//! `#[compile]` on an `impl`: the methods that it is for.
//!
//! A method is compiled as if it had the attribute itself where its signature can be captured and has a tensor in it.
//! What is wrong with the body of such a method is reported, as for the attribute of its own.

use crate::attribute::Options;
use crate::captured::Under;
use crate::diagnostic::{Diagnostic, Diagnostics, code};
use crate::marker::{self, MarkerKind};
use crate::model::is_named;
use crate::parameter::Param;
use crate::returns::Returns;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{FnArg, GenericParam, ImplItem, ImplItemFn, ItemImpl, ReceiverKind, Safety};

/// The methods of an `impl` under `#[compile(attr)]` that are compiled, by their places among its items. A second attribute
/// that would capture them is taken off.
///
/// # Errors
/// An `impl` of a trait, one without such methods, and what is wrong with the attribute.
pub fn methods(attr: &TokenStream, block: &mut ItemImpl) -> Result<Vec<usize>, Vec<Diagnostic>> {
    let errors = Diagnostics::default();
    let options = Options::parse(attr.clone(), &errors);
    let name = Under::Compile.name();
    marker::once(&mut block.attrs, name, options.krate.as_ref(), &errors);
    let (head, ty) = (&block.impl_token, &block.self_ty);
    if let Some((of, word)) = &block.trait_ {
        let message = "`#[compile]` goes on an inherent `impl`, this one is of a trait";
        errors.push(
            Diagnostic::new(code::NOT_A_FUNCTION, quote!(#head #of #word #ty), message)
                .help("put the body into an inherent method, and call that one from the trait's"),
        );
    }
    let items = block.items.iter().enumerate();
    let chosen: Vec<usize> = items
        .filter(|(_, item)| matches!(item, ImplItem::Fn(f) if is_chosen(f)))
        .map(|(i, _)| i)
        .collect();
    if let Some(name) = options.name.as_ref().filter(|_| chosen.len() > 1) {
        let message = format!(
            "the name \"{name}\" is for one graph, this `impl` has {}",
            chosen.len()
        );
        errors.push(
            Diagnostic::new(code::ARGUMENT_TYPE, attr, message)
                .help("name a method in an attribute of its own"),
        );
    }
    let errors = errors.take();
    if !errors.is_empty() {
        return Err(errors);
    }
    if chosen.is_empty() {
        let message = "`#[compile]` finds no method to compile in this `impl`";
        return Err(vec![
            Diagnostic::new(code::NOT_A_FUNCTION, quote!(#head #ty), message)
                .note("it is for methods without an attribute of ours, on `&self` or nothing, over tensors and numbers")
                .help("put the attribute on a method, which says why it cannot be captured"),
        ]);
    }
    Ok(chosen)
}

/// Whether a method has no attribute of ours, and a signature with tensors that can be captured.
fn is_chosen(f: &ImplItemFn) -> bool {
    let markers = MarkerKind::ALL.iter().map(|m| m.name());
    let ours = markers.chain([Under::Compile.name(), Under::Region.name()]);
    let is_ours = |a| ours.clone().any(|name| is_named(a, name));
    if f.attrs.iter().any(is_ours) {
        return false;
    }
    let sig = &f.sig;
    let plain = sig.constness.is_none()
        && sig.asyncness.is_none()
        && sig.abi.is_none()
        && sig.variadic.is_none()
        && matches!(sig.safety, Safety::Default)
        && !sig
            .generics
            .params
            .iter()
            .any(|p| matches!(p, GenericParam::Type(_)));
    let Ok(returns) = Returns::parse(&sig.output, None, None) else {
        return false;
    };
    let mut tensors = !returns.tree.is_empty();
    for input in &sig.inputs {
        match input {
            FnArg::Receiver(r) => {
                if !matches!(&r.kind, ReceiverKind::Reference(_, _, None)) || r.mutability.is_some() {
                    return false;
                }
            }
            FnArg::Typed(t) => match Param::parse(t) {
                Ok(params) => tensors |= params.iter().any(|p| p.tree.tensors() > 0),
                Err(_) => return false,
            },
        }
    }
    plain && tensors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(attr: &str, block: &str) -> Result<Vec<String>, Vec<String>> {
        let mut block: ItemImpl = syn::parse_str(block).expect("an impl");
        let chosen = methods(&attr.parse().expect("tokens"), &mut block);
        let names = |i: usize| match &block.items[i] {
            ImplItem::Fn(f) => f.sig.ident.to_string(),
            _ => String::new(),
        };
        match chosen {
            Ok(chosen) => Ok(chosen.into_iter().map(names).collect()),
            Err(errors) => Err(errors.iter().map(Diagnostic::to_string).collect()),
        }
    }

    #[test]
    fn signatures_that_can_be_captured_and_have_tensors() {
        let block = "impl Net {
            const N: usize = 1;
            fn forward(&self, x: &Tensor) -> Tensor { x.exp() }
            fn make(n: usize) -> Result<Tensor> { .. }
            fn modes(&self, x: &Tensor, mode: Mode) -> (Tensor, Tensor) { .. }
            fn len(&self) -> usize { 0 }
            fn count(&self, n: usize) {}
            fn load(path: &str) -> Net { .. }
            fn set(&mut self, x: &Tensor) {}
            fn into(self) -> Tensor { self.x }
            fn generic<T>(&self, x: &Tensor) -> Tensor { x.exp() }
            async fn later(&self, x: &Tensor) -> Tensor { x.exp() }
            fn list(&self, x: &HashMap<usize, Tensor>) -> Tensor { x.exp() }
            #[tensorplay::compile] fn own(&self, x: &Tensor) -> Tensor { x.exp() }
            #[inline] #[disable] fn off(&self, x: &Tensor) -> Tensor { x.exp() }
        }"
        .replace("..", "todo!()");
        let names = ["forward", "make", "modes"].map(String::from).to_vec();
        assert_eq!(chosen("fullgraph", &block), Ok(names));
    }

    #[test]
    fn errors() {
        let one = |attr: &str, block: &str| match chosen(attr, block) {
            Err(errors) if errors.len() == 1 => errors[0].clone(),
            other => panic!("{other:?}"),
        };
        let none = one("", "impl Net { fn len(&self) -> usize { 0 } }");
        assert!(none.contains("finds no method to compile"), "{none}");
        let of_trait = one(
            "",
            "impl Run for Net { fn run(&self, x: &Tensor) -> Tensor { x.exp() } }",
        );
        assert!(of_trait.contains("this one is of a trait"), "{of_trait}");
        let two = "impl Net { fn a(x: &Tensor) {} fn b(x: &Tensor) {} }";
        assert!(one("name = \"f\"", two).contains("is for one graph"));
        let twice = one("", &format!("#[compile(fullgraph)] {two}"));
        assert!(twice.contains("`#[compile]` stands here twice"), "{twice}");
        let unknown = one("fulgraph", two);
        assert!(unknown.contains("fullgraph"), "{unknown}");
    }
}
