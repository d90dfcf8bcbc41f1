//! The expansion of `#[compile] impl ..`: its methods that can be compiled, each in its place.

use crate::expand;
use proc_macro2::TokenStream;
use quote::ToTokens;
use std::rc::Rc;
use syn::{ImplItem, ItemImpl};
use tensorplay_capture::{Env, Failure, Under};

/// Expands the attribute.
pub fn block(attr: TokenStream, mut block: ItemImpl) -> TokenStream {
    let chosen = match tensorplay_capture::methods(&attr, &mut block) {
        Ok(chosen) => chosen,
        Err(diagnostics) => {
            let item = block.into_token_stream();
            return expand::failure(Failure {
                item,
                diagnostics,
                segmented: None,
            });
        }
    };
    let name = tensorplay_capture::self_name(&block.self_ty);
    let env = Rc::new(Env::default().within(Some(name.as_deref().unwrap_or("Self"))));
    for i in chosen {
        let method = block.items[i].to_token_stream();
        let made = expand::compile_in(&env, Under::Compile, attr.clone(), method);
        block.items[i] = ImplItem::Verbatim(made);
    }
    block.into_token_stream()
}
