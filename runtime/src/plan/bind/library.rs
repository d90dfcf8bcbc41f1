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
        self.steps.push(Step::Copy(Box::new(copy::copy(x, &out))));
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
            .push(Step::Matmul(Box::new(contract::matmul(&a, &b, &out))));
        self.counts.contractions += 1;
        self.put(id.into(), out);
        Ok(())
    }

    pub(super) fn join(&mut self, id: NodeId) -> Result<()> {
        let node = self.graph().node(id).clone();
        let [Arg::List(xs), dim] = node.args() else {
            return Ok(());
        };
        let dim = self.int(dim);
        let shape: Sizes = self.shape(id.into()).into();
        let out = self.allocate(&shape, self.stored(id.into()))?;
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
            if len == 0 {
                continue;
            }
            self.counts.copies += 1;
            if x.dtype == out.dtype {
                self.steps.push(Step::Copy(Box::new(copy::copy(&x, &part))));
                continue;
            }
            let lowered = Arc::new(copy::cast(x.dtype, out.dtype));
            let rank = shape.len();
            let view = |p: &Place| View {
                strides: broadcast_strides(&p.layout, rank),
            };
            let (from, to) = (view(&x), view(&part));
            let nest = Nest::bind(&lowered.kernel, x.layout.shape(), 0, &[from], &[to]);
            self.steps.push(Step::Kernel(Box::new(KernelStep {
                lowered,
                nest,
                strips: None,
                operands: SmallVec::from_slice(&[x.at()]),
                outputs: SmallVec::from_slice(&[part.at()]),
                params: Vec::new(),
                divisors: Vec::new(),
            })));
        }
        self.put(id.into(), out);
        Ok(())
    }

    pub(super) fn create(&mut self, id: NodeId) -> Result<()> {
        let node = self.graph().node(id).clone();
        let Some(op) = node.op() else { return Ok(()) };
        let (shape, dtype): (Sizes, DType) = (self.shape(id.into()).into(), self.typing.dtype(id.into()));
        let args = node.args();
        if matches!(op, Op::Rand | Op::Randn) {
            let place = self.allocate(&shape, dtype)?;
            self.steps.push(Step::Draw(Box::new(DrawStep {
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
