//! Inputs and outputs: the signature of an edited graph.

use super::{Edit, EditError, User};
use crate::{Dim, Node, NodeId, NodeKind, TensorType, Value, VerifyErrorKind, Write, contradict};

impl Edit<'_> {
    /// Makes these values the results, in the place of all that there were. New values of parameters stay behind
    /// them; specs of results are taken away.
    ///
    /// # Errors
    /// A value that is not there.
    pub fn set_outputs(&mut self, values: &[Value]) -> Result<(), EditError> {
        values.iter().try_for_each(|v| self.check_value(*v))?;
        let kept = self.work.graph.outputs.split_off(self.work.returned());
        let mut outputs = values.to_vec();
        outputs.extend(kept);
        self.work.output_specs.clear();
        self.renew_outputs(outputs);
        Ok(())
    }

    /// Adds a result behind the others, and returns its number. It has no spec.
    ///
    /// # Errors
    /// A value that is not there.
    pub fn add_output(&mut self, value: Value) -> Result<usize, EditError> {
        self.check_value(value)?;
        let at = self.work.returned();
        if !self.work.output_specs.is_empty() {
            self.work.output_specs.push(None);
        }
        let mut outputs = self.work.graph.outputs.clone();
        outputs.insert(at, value);
        self.renew_outputs(outputs);
        Ok(at)
    }

    /// Puts another value in the place of an output.
    ///
    /// # Errors
    /// A value or an output that is not there, or a value that the output's spec excludes.
    pub fn replace_output(&mut self, output: usize, value: Value) -> Result<(), EditError> {
        self.check_value(value)?;
        let outputs = self.work.graph.outputs.len();
        if output >= outputs {
            return Err(EditError::Output { output, outputs });
        }
        self.check_output(output, value)?;
        self.swap_output(output as u32, value);
        Ok(())
    }

    fn renew_outputs(&mut self, outputs: Vec<Value>) {
        let old = std::mem::replace(&mut self.work.graph.outputs, outputs);
        for (i, v) in old.iter().enumerate() {
            self.users.remove(*v, User::Output(i as u32));
        }
        for (i, v) in self.work.graph.outputs.iter().enumerate() {
            self.users.add(*v, User::Output(i as u32));
        }
    }

    /// Whether a value may be that output: a result is of its spec, and the new value of a variable of its type.
    pub(super) fn check_output(&self, output: usize, value: Value) -> Result<(), EditError> {
        let graph = &self.work.graph;
        let symbols = &self.work.symbols;
        let spec = match output.checked_sub(self.work.returned()) {
            None => self.work.output_specs.get(output).and_then(Option::as_ref),
            Some(k) => {
                let input = self
                    .work
                    .updates
                    .get(k)
                    .and_then(|i| graph.inputs.get(*i as usize));
                input.map(|i| graph.ty((*i).into()))
            }
        };
        match spec {
            Some(spec) if contradict(spec, graph.ty(value), symbols) => Err(EditError::spec(
                ("output", output),
                spec,
                graph.ty(value),
                symbols,
            )),
            _ => Ok(()),
        }
    }

    /// Adds a tensor parameter behind the others, but before the parts of aggregates. Its node stands before all
    /// others, so that each may use it.
    ///
    /// # Errors
    /// A spec with a named dim that the module does not declare.
    pub fn add_input(&mut self, name: &str, spec: Option<TensorType>) -> Result<Value, EditError> {
        let dims = spec.iter().flat_map(|t| &t.shape).flatten();
        for dim in dims {
            if let Dim::Symbol(s) = dim
                && *s as usize >= self.work.symbols.len()
            {
                return Err(VerifyErrorKind::Symbol(*s).into());
            }
        }
        let at = self
            .work
            .graph
            .inputs
            .len()
            .saturating_sub(self.work.fields.len());
        let node = Node {
            kind: NodeKind::Input(at as u32),
            name: String::new(),
            location: 0,
            types: vec![spec.clone().unwrap_or_default()],
            interior: false,
        };
        let first = self.order.first().map(NodeId);
        let id = self.insert(first, node)?;
        let moved = |i: &mut u32| {
            if *i as usize >= at {
                *i += 1;
            }
        };
        for input in &self.work.graph.inputs {
            if let NodeKind::Input(i) = &mut self.work.graph.nodes[input.index()].kind {
                moved(i);
            }
        }
        self.work.updates.iter_mut().for_each(moved);
        self.work.statics.iter_mut().for_each(|(i, _)| moved(i));
        for write in &mut self.work.writes {
            if let Write::Input(i) = write {
                moved(i);
            }
        }
        self.work.graph.inputs.insert(at, id);
        self.work.specs.insert(at, spec);
        self.rename(id, name)?;
        Ok(id.into())
    }
}
