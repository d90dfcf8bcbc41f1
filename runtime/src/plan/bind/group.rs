//! Groups: a kernel where the predicates hold, else node by node.

use super::*;

const BUG: &str = "this is a bug, please report it";

impl<'a> Binder<'a> {
    pub(super) fn group(&mut self, u: u32, unit: &'a Unit) -> Result<()> {
        if u >= self.how.fused {
            return self.split(unit, "options keep its operations apart".into());
        }
        let emitted = self.instance.and_then(|i| i.kernels[u as usize].as_ref());
        let space = match IterSpace::of(unit, self) {
            Ok(space) if unit.members.len() == 1 || !self.divides_integers(unit) => space,
            Ok(_) => {
                return self.split(
                    unit,
                    "integer divisors are checked before the group writes".into(),
                );
            }
            Err(reason) => return self.split(unit, reason),
        };
        let shared = match emitted {
            Some((lowered, first)) if self.how.kernels != Kernels::Tile => {
                let n = lowered.kernel.maps().count();
                let strips = &self.strips.of(u)[*first as usize..*first as usize + n];
                strips.iter().all(Strip::runs).then(|| (lowered.clone(), strips))
            }
            _ => None,
        };
        let (lowered, strips) = match shared {
            Some((lowered, strips)) => (lowered, Some(strips)),
            None => {
                let lowered = match emitted {
                    Some((lowered, _)) => lowered.clone(),
                    None => match lower(&self.blob.module, &self.typing, unit, &|_| false) {
                        Ok(lowered) => Arc::new(lowered),
                        Err(e) => return self.split(unit, format!("{e}; {BUG}")),
                    },
                };
                let lacking = if emitted.is_some() {
                    format!("the {} instruction set", isa())
                } else if self.instance.is_some() {
                    format!("more than {MAX_STRIP_OPERANDS} operands")
                } else {
                    let dtypes: Vec<String> = self.inputs.iter().map(|m| m.dtype.to_string()).collect();
                    format!("inputs of {}", dtypes.join(", "))
                };
                if self.how.kernels == Kernels::Emitted {
                    return Err(Error::msg(format!(
                        "group `{}` has no emitted kernel for {lacking}, and TENSORPLAY_KERNELS=emitted forbids the tile VM",
                        lowered.kernel.name,
                    )));
                }
                if self.how.kernels == Kernels::Any && !self.blob.instances.is_empty() {
                    self.fallbacks.push(Fallback {
                        group: lowered.kernel.name.clone(),
                        reason: format!("no kernel was emitted for {lacking}"),
                    });
                }
                (lowered, None)
            }
        };
        self.kernel(unit, &space, lowered, strips)
    }

    /// Runs a group's nodes one by one on the tile VM, with intermediates in their compute type.
    pub(super) fn split(&mut self, unit: &'a Unit, reason: String) -> Result<()> {
        self.counts.splits += 1;
        let name = self
            .graph()
            .node(unit.members[unit.members.len() - 1].node)
            .op_name()
            .to_string();
        self.fallbacks.push(Fallback { group: name, reason });
        for m in &unit.members {
            let v: Value = m.node.into();
            if !self.how.rounds_each && !unit.outputs.contains(&v) && self.typing.dtype(v).is_half() {
                self.wide.push(v);
            }
        }
        for m in &unit.members {
            let fold = self.folds(m.node);
            let space = if fold { Space::Row } else { Space::Elem };
            let kind = if fold { UnitKind::Row } else { UnitKind::Map };
            let single = Unit {
                kind,
                members: vec![Member {
                    node: m.node,
                    space,
                    kept: m.kept,
                }],
                outputs: vec![m.node.into()],
            };
            let space = IterSpace::of(&single, self).map_err(|reason| {
                Error::msg(format!(
                    "a single node does not fit its own space: {reason}; {BUG}"
                ))
            })?;
            let wide = &self.wide;
            let lowered = lower(&self.blob.module, &self.typing, &single, &|v| wide.contains(&v))
                .map_err(|e| Error::msg(format!("a single node is no kernel: {e}; {BUG}")))?;
            self.kernel(&single, &space, Arc::new(lowered), None)?;
        }
        Ok(())
    }

    fn folds(&self, node: NodeId) -> bool {
        let op = self.graph().node(node).op();
        op.is_some_and(|op| matches!(op.row().lowering, Lowering::Reduce(_)))
    }

    pub(super) fn divides_integers(&self, unit: &Unit) -> bool {
        unit.members
            .iter()
            .any(|m| self.integer_division(m.node).is_some())
    }

    /// The divisor argument of an integer division.
    pub(super) fn integer_division(&self, node: NodeId) -> Option<(Op, &Arg)> {
        let n = self.graph().node(node);
        let op = n.op()?;
        let (compute, _) = self.typing.call(node.index())?;
        (matches!(op, Op::FloorDiv | Op::Fmod | Op::Remainder) && compute.is_int())
            .then(|| (op, &n.args()[1]))
    }

    pub(super) fn kernel(
        &mut self,
        unit: &Unit,
        space: &IterSpace,
        lowered: Arc<Lowered>,
        strips: Option<&'static [Strip]>,
    ) -> Result<()> {
        let kernel = &lowered.kernel;
        let mut operands = SmallVec::new();
        let mut views: Vec<View> = Vec::with_capacity(kernel.operands.len());
        for (v, buffer) in lowered.operands.iter().zip(&kernel.operands) {
            let place = self.place(*v)?;
            operands.push(place.at());
            let strides = match buffer.space {
                Space::Elem => space.elem_strides(&place.layout),
                Space::Row => {
                    let reader = self.row_reader(unit, *v);
                    space.row_strides(&place.layout, &reader)
                }
            };
            views.push(View { strides });
        }
        let mut outputs = SmallVec::new();
        let mut out_views = Vec::with_capacity(kernel.outputs.len());
        for (v, buffer) in lowered.outputs.iter().zip(&kernel.outputs) {
            let shape: Sizes = self.shape(*v).into();
            let place = self.allocate(&shape, buffer.dtype)?;
            outputs.push(place.at());
            let strides = match buffer.space {
                Space::Elem => space.elem_strides(&place.layout),
                Space::Row => space.row_strides(&place.layout, &shape),
            };
            out_views.push(View { strides });
            self.put(*v, place);
        }
        let mut params = Vec::with_capacity(lowered.params.len());
        for e in &lowered.params {
            params.push(match e.eval(self) {
                Ok(h) => Param::Known(h.as_scalar().unwrap_or(Scalar::Int(0))),
                Err(HostError::Unknown) => {
                    let (op, place) = self.taker(unit, e);
                    Param::Call(self.closed(e), op, place)
                }
                Err(HostError::Failed(message)) => {
                    let (op, place) = self.taker(unit, e);
                    return Err(host_error(op, message).placed(place));
                }
            });
        }
        let place = first_place(self.blob, unit);
        let mut divisors = Vec::new();
        if let [m] = &unit.members[..]
            && let Some((op, arg)) = self.integer_division(m.node)
            && !self.shape(m.node.into()).contains(&0)
        {
            match arg.clone() {
                Arg::Value(v) => {
                    let p = self.place(v)?;
                    divisors.push(Divisor::new(op.name(), place, p.at(), p.dtype, &p.layout));
                }
                arg if self.host(&arg).and_then(Host::as_int) == Some(0) => {
                    return Err(check::by_zero(op.name()).placed(place));
                }
                _ => {}
            }
        }
        let nest = Nest::bind(kernel, &space.permuted(), space.reduced.len(), &views, &out_views);
        match strips {
            Some(_) => self.counts.emitted += 1,
            None => self.counts.tile += 1,
        }
        self.steps.push(Step::Kernel(Arc::new(KernelStep {
            lowered: lowered.clone(),
            nest,
            strips,
            operands,
            outputs,
            params,
            place,
            divisors,
        })));
        Ok(())
    }

    /// The shape of the row value that reads `v` row by row.
    pub(super) fn row_reader(&self, unit: &Unit, v: Value) -> Sizes {
        let reads = |m: &&Member| {
            let mut found = false;
            self.graph()
                .node(m.node)
                .args()
                .iter()
                .for_each(|a| a.tensors(&mut |t| found |= t == v));
            // a fold reads it element by element
            m.space == Space::Row && !self.folds(m.node) && found
        };
        unit.members
            .iter()
            .find(reads)
            .map_or_else(Sizes::new, |m| self.shape(m.node.into()).into())
    }

    /// The expression with everything that is known now replaced by its value.
    pub(super) fn closed(&self, e: &Expr) -> Expr {
        if let Ok(h) = e.eval(self) {
            return match (h, e.host_type()) {
                (Host::Float(_), tensorplay_graph::HostType::F32) => {
                    Expr::Cast(tensorplay_graph::HostType::F32, Box::new(Expr::Literal(h)))
                }
                _ => Expr::Literal(h),
            };
        }
        match e {
            Expr::Cast(t, a) => Expr::Cast(*t, Box::new(self.closed(a))),
            Expr::Unary(op, a) => Expr::Unary(*op, Box::new(self.closed(a))),
            Expr::Binary(op, a, b) => Expr::Binary(*op, Box::new(self.closed(a)), Box::new(self.closed(b))),
            other => other.clone(),
        }
    }
}
