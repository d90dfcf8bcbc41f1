//! `Env`: what a function is captured with: its module, and what was looked up elsewhere.

use crate::export::{Exported, FnExport};
use crate::model::{Model, Ty, foreign, key};
use proc_macro2::TokenStream;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use syn::Path;
use tensorplay_graph::Schema;

/// What capture knows beside the function's own tokens.
#[derive(Debug, Default)]
pub struct Env {
    /// The `#[model]` module of the function.
    pub model: Option<Rc<Model>>,
    /// The struct whose method it is.
    pub receiver: Option<String>,
    /// What was looked up in the macro namespace, by path.
    pub externs: Rc<BTreeMap<String, Exported>>,
    /// The items of the module.
    pub items: TokenStream,
    /// Whether everything was looked up.
    pub complete: bool,
    /// The regions of the module that were captured so far; `None` while one is being captured.
    pub(crate) regions: Rc<RefCell<Regions>>,
}

/// Regions by path.
pub(crate) type Regions = BTreeMap<String, Option<Rc<FnExport>>>;

impl Env {
    /// What the functions of a module are captured with.
    pub fn of(model: Model, items: TokenStream) -> Env {
        Env {
            model: Some(Rc::new(model)),
            items,
            ..Env::default()
        }
    }

    /// What a function is captured with once everything was looked up for it.
    pub fn looked_up(
        model: Option<Model>,
        receiver: Option<String>,
        externs: BTreeMap<String, Exported>,
    ) -> Env {
        Env {
            model: model.map(Rc::new),
            receiver,
            externs: Rc::new(externs),
            complete: true,
            ..Env::default()
        }
    }

    /// The same for a function of the module, with the struct whose method it is.
    pub fn within(&self, receiver: Option<&str>) -> Env {
        Env {
            model: self.model.clone(),
            receiver: receiver.map(str::to_string),
            externs: self.externs.clone(),
            items: self.items.clone(),
            complete: self.complete,
            regions: self.regions.clone(),
        }
    }

    /// The type whose `impl` the function belongs to.
    pub(crate) fn owner(&self) -> Option<String> {
        self.receiver.clone().filter(|name| name != "Self")
    }

    /// What a type is flattened to.
    pub fn schema(&self, ty: &Ty) -> Schema {
        let foreign = |key: &str| match self.externs.get(key) {
            Some(Exported::Type(t)) => Some(t.schema.clone()),
            _ => None,
        };
        match &self.model {
            Some(model) => model.schema(ty, &foreign),
            None => Model::default().schema(ty, &foreign),
        }
    }

    /// Whether a graph may read a field of that type.
    pub fn is_read(&self, ty: &Ty) -> bool {
        match (ty.core(), &self.model) {
            (Ty::Foreign(path), Some(model)) => {
                let path = key(path);
                foreign(model).iter().any(|p| key(p) == path)
            }
            _ => self.schema(ty) != Schema::Opaque,
        }
    }

    /// What a path was looked up as.
    pub fn lookup(&self, path: &Path) -> Option<&Exported> {
        let mut path = path.clone();
        path.segments
            .iter_mut()
            .for_each(|s| s.arguments = Default::default());
        self.externs.get(&key(&path))
    }
}
