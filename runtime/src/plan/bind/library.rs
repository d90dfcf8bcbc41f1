//! Steps that are not kernels: views, products, joins, created tensors.

use super::*;

impl Binder<'_> {
    pub(super) fn view(&mut self, id: NodeId) -> Result<()> {
        let node = self.graph().node(id).clone();
        let (Some(op), Some(Arg::Value(x))) = (node.op(), node.args().first()) else {
            return Ok(());
        };
        let x = self.place(*x)?;
        let args = node.args();
        let i = |k: usize| self.int(&args[k]);
        let layout = match op {
            Op::Reshape | Op::Flatten | Op::FlattenAll => {
                let shape: Sizes = self.shape(id.into()).into();
                match x.layout.reshaped(&shape) {
                    Some(layout) => layout,
                    None => {
                        let dense = self.dense(&x)?;
                        let layout = Layout::contiguous(&shape)?;
                        self.put(id.into(), Place { layout, ..dense });
                        return Ok(());
                    }
                }
            }
            Op::Contiguous if !x.layout.is_contiguous() => {
                let dense = self.dense(&x)?;
                self.put(id.into(), dense);
                return Ok(());
            }
            Op::Contiguous | Op::Detach => x.layout.clone(),
            Op::Transpose => x.layout.transpose(i(1), i(2))?,
            Op::T => x.layout.t()?,
            Op::ChannelsOf => x
                .layout
                .reshaped(self.shape(id.into()))
                .unwrap_or(x.layout.clone()),
            Op::Permute => x.layout.permute(&self.ints(&args[1]))?,
            Op::Unsqueeze => x.layout.unsqueeze(i(1))?,
            Op::Squeeze => x.layout.squeeze(i(1))?,
            Op::Narrow => x.layout.narrow(i(1), i(2), i(3))?,
            Op::Select => x.layout.select(i(1), i(2))?,
            Op::Slice => {
                let dim = i(1);
                let at = if dim < 0 {
                    dim + x.layout.rank() as i64
                } else {
                    dim
                };
                let n = x.layout.shape().get(at as usize).copied().unwrap_or(0);
                let (start, len) = slice_bounds(n, i(2), i(3), i(4));
                x.layout.slice(
                    dim,
                    start as i64,
                    (start + (len * i(4) as usize)).min(n) as i64,
                    i(4),
                )?
            }
            Op::Expand => x.layout.broadcast_to("expand", self.shape(id.into()))?,
            Op::Movedim => x.layout.movedim(i(1), i(2))?,
            Op::Chunk | Op::Split => return self.pieces(id, &x, i(2)),
            op => {
                return Err(Error::msg(format!(
                    "`{op}` is not a view; this is a bug, please report it"
                )));
            }
        };
        self.put(id.into(), Place { layout, ..x });
        Ok(())
    }

    pub(super) fn pieces(&mut self, id: NodeId, x: &Place, dim: i64) -> Result<()> {
        let axis = normal_dim("chunk", dim, x.layout.rank())?;
        let mut start = 0;
        for index in 0..self.shapes[id.index()].len() {
            let len = self.shapes[id.index()][index][axis];
            let layout = x.layout.narrow(dim, start as i64, len as i64)?;
            start += len;
            self.put(
                Value {
                    node: id,
                    index: index as u32,
                },
                Place { layout, ..x.clone() },
            );
        }
        Ok(())
    }

    /// A row-major copy.
    pub(super) fn dense(&mut self, x: &Place) -> Result<Place> {
        let shape: Sizes = x.layout.shape().into();
        let out = self.allocate(&shape, x.dtype)?;
        self.counts.copies += 1;
        self.steps.push(Step::Copy(Arc::new(copy::copy(x, &out))));
        Ok(out)
    }

    pub(super) fn product(&mut self, id: NodeId) -> Result<()> {
        let node = self.graph().node(id).clone();
        let [Arg::Value(a), Arg::Value(b)] = node.args() else {
            return Ok(());
        };
        let (a, b) = (self.place(*a)?, self.place(*b)?);
        let shape: Sizes = self.shape(id.into()).into();
        let out = self.allocate(&shape, self.stored(id.into()))?;
        self.steps
            .push(Step::Matmul(Arc::new(contract::matmul(&a, &b, &out))));
        self.counts.contractions += 1;
        self.put(id.into(), out);
        Ok(())
    }

    /// An operation with a kernel of its own: operands are made dense.
    pub(super) fn operation(&mut self, id: NodeId) -> Result<()> {
        let node = self.graph().node(id).clone();
        let Some(op) = node.op() else { return Ok(()) };
        let (compute, _) = self.typing.call(id.index()).unwrap_or((DType::F32, DType::F32));
        let mut operands = SmallVec::new();
        let mut attributes = Vec::with_capacity(node.args().len());
        for (arg, p) in node.args().iter().zip(op.row().params) {
            attributes.push(match arg {
                Arg::Value(v) if p.kind == ParamKind::Shape => {
                    let size = |&n: &usize| Some(Host::Int(n as i64));
                    Attribute::List(self.shape(*v).iter().map(size).collect())
                }
                Arg::Value(v) => {
                    let mut x = self.place(*v)?;
                    // inside a composite, halves are kept in f32
                    if self.typing.dtype(*v) == compute && compute == self.typing.dtype(id.into()) {
                        x = self.converted(x, self.stored(id.into()))?;
                    }
                    if !x.layout.is_contiguous() {
                        x = self.dense(&x)?;
                    }
                    operands.push(Dense {
                        at: x.at(),
                        dtype: x.dtype,
                        shape: x.layout.shape().into(),
                    });
                    Attribute::Operand(operands.len() - 1)
                }
                Arg::Host(_) => self.host(arg).map_or(Attribute::Absent, Attribute::Host),
                Arg::List(l) => Attribute::List(l.iter().map(|a| self.host(a)).collect()),
                Arg::Field(_) | Arg::None => Attribute::Absent,
            });
        }
        if op == Op::ScaledDotProductAttention {
            self.broadcast_heads(&mut operands, id)?;
        }
        let mut outputs = SmallVec::new();
        for index in 0..self.shapes[id.index()].len() as u32 {
            let v = Value { node: id, index };
            let shape: Sizes = self.shape(v).into();
            let place = self.allocate(&shape, self.stored(v))?;
            outputs.push(Dense {
                at: place.at(),
                dtype: place.dtype,
                shape,
            });
            self.put(v, place);
        }
        let written = self.blob.written_op(id, op);
        self.counts.ops += 1;
        self.steps.push(Step::Op(Arc::new(OpStep {
            op,
            written,
            place: self.graph().node(id).location,
            attributes,
            operands,
            outputs,
        })));
        Ok(())
    }

    /// Gives queries, keys and values the same leading axes.
    fn broadcast_heads(&mut self, operands: &mut SmallVec<[Dense; 4]>, id: NodeId) -> Result<()> {
        let out: Sizes = self.shape(id.into()).into();
        let lead = &out[..out.len() - 2];
        for d in operands.iter_mut().take(3) {
            let rank = d.shape.len();
            let mut shape: Sizes = lead.into();
            shape.extend_from_slice(&d.shape[rank - 2..]);
            if shape == d.shape {
                continue;
            }
            let base = Layout::contiguous(&d.shape)?;
            let layout = base.broadcast_to("scaled_dot_product_attention", &shape)?;
            let mut x = Place {
                base: d.at.base,
                layout,
                dtype: d.dtype,
            };
            // the offset of a dense operand is in bytes
            let offset = d.at.offset / d.dtype.size();
            x.layout = Layout::new(shape.clone(), x.layout.strides().into(), offset)?;
            let dense = self.dense(&x)?;
            *d = Dense {
                at: dense.at(),
                dtype: d.dtype,
                shape,
            };
        }
        Ok(())
    }

    /// The values of `x` in another dtype, if it is one.
    fn converted(&mut self, x: Place, dtype: DType) -> Result<Place> {
        if x.dtype == dtype {
            return Ok(x);
        }
        let shape: Sizes = x.layout.shape().into();
        let out = self.allocate(&shape, dtype)?;
        self.cast_into(&x, &out);
        Ok(out)
    }

    /// A copy of one buffer into a part of another, converted if the dtypes differ.
    fn copy_into(&mut self, x: &Place, part: &Place) {
        self.counts.copies += 1;
        if x.dtype == part.dtype {
            self.steps.push(Step::Copy(Arc::new(copy::copy(x, part))));
        } else {
            self.cast_into(x, part);
        }
    }

    fn cast_into(&mut self, x: &Place, part: &Place) {
        let lowered = Arc::new(copy::cast(x.dtype, part.dtype));
        let rank = part.layout.rank();
        let view = |p: &Place| View {
            strides: broadcast_strides(&p.layout, rank),
        };
        let (from, to) = (view(x), view(part));
        let nest = Nest::bind(&lowered.kernel, x.layout.shape(), 0, &[from], &[to]);
        self.steps.push(Step::Kernel(Arc::new(KernelStep {
            lowered,
            nest,
            strips: None,
            operands: SmallVec::from_slice(&[x.at()]),
            outputs: SmallVec::from_slice(&[part.at()]),
            params: Vec::new(),
            place: 0,
            divisors: Vec::new(),
        })));
    }

    pub(super) fn join(&mut self, id: NodeId) -> Result<()> {
        let node = self.graph().node(id).clone();
        let shape: Sizes = self.shape(id.into()).into();
        let out = self.allocate(&shape, self.stored(id.into()))?;
        match node.args() {
            [Arg::List(xs), dim] => {
                let dim = self.int(dim);
                let axis = normal_dim("cat", dim, shape.len())?;
                let mut start = 0;
                for x in xs {
                    let Arg::Value(v) = x else { continue };
                    let x = self.place(*v)?;
                    let len = x.layout.shape()[axis];
                    let part = Place {
                        layout: out.layout.narrow(dim, start as i64, len as i64)?,
                        ..out.clone()
                    };
                    start += len;
                    if len > 0 {
                        self.copy_into(&x, &part);
                    }
                }
            }
            [Arg::Value(x), dim, start, Arg::Value(src)] => {
                let (dim, start) = (self.int(dim), self.int(start));
                let (x, src) = (self.place(*x)?, self.place(*src)?);
                let axis = normal_dim("slice_scatter", dim, shape.len())?;
                let len = src.layout.shape()[axis] as i64;
                let part = Place {
                    layout: out.layout.narrow(dim, start, len)?,
                    ..out.clone()
                };
                self.copy_into(&x, &out);
                self.copy_into(&src, &part);
            }
            _ => {}
        }
        self.put(id.into(), out);
        Ok(())
    }

    pub(super) fn create(&mut self, id: NodeId) -> Result<()> {
        let node = self.graph().node(id).clone();
        let Some(op) = node.op() else { return Ok(()) };
        let (shape, dtype): (Sizes, DType) = (self.shape(id.into()).into(), self.typing.dtype(id.into()));
        let args = node.args();
        let off = op == Op::RandIf && self.host(&args[2]) == Some(Host::Bool(false));
        if op.is_random() && !off {
            let place = self.allocate(&shape, dtype)?;
            self.steps.push(Step::Draw(Arc::new(DrawStep {
                op,
                shape,
                dtype,
                number: self.draws as u64,
                base: place.base,
            })));
            self.draws += 1;
            self.counts.ops += 1;
            self.put(id.into(), place);
            return Ok(());
        }
        let tensor = match op {
            Op::Zeros | Op::ZerosLike => create::zeros(&shape, dtype)?,
            Op::Ones | Op::OnesLike => create::ones(&shape, dtype)?,
            // nothing is drawn: zeros, of one element for all
            Op::RandIf => {
                let zero = create::zeros(&[], dtype)?;
                let layout = zero.layout().broadcast_to("dropout", &shape)?;
                zero.with_layout(layout)
            }
            Op::Full => create::full(&shape, self.scalar(&args[1]), dtype)?,
            Op::Arange => create::arange(self.scalar(&args[0]), self.scalar(&args[1]), dtype)?,
            Op::Linspace => {
                let n = self.int(&args[2]).max(0) as usize;
                create::linspace(self.scalar(&args[0]), self.scalar(&args[1]), n, dtype)?
            }
            Op::Eye => create::eye(self.int(&args[0]).max(0) as usize, dtype)?,
            op => {
                return Err(Error::msg(format!(
                    "`{op}` does not create; this is a bug, please report it"
                )));
            }
        };
        let layout = tensor.layout().clone();
        let base = CONSTANT | self.constants.len() as u32;
        self.constants.push(tensor);
        self.put(id.into(), Place { base, layout, dtype });
        Ok(())
    }
}
