//! Evaluation of host expressions, bit for bit as the same Rust.

use super::{Env, Expr, Host, HostBinary, HostError, HostType, HostUnary, PROBABILITY};
use crate::graph::Value;

impl Expr {
    /// The value.
    ///
    /// # Errors
    /// [`HostError::Unknown`] if the environment lacks something, [`HostError::Failed`] where Rust would panic.
    pub fn eval(&self, env: &dyn Env) -> Result<Host, HostError> {
        match self.eval_as(env, self.host_type())? {
            Host::Size(v) => Err(HostError::Failed(format!(
                "{v} is above {}, the largest integer that an operation takes",
                i64::MAX
            ))),
            h => Ok(h),
        }
    }

    /// The value, where literals without suffix take the type `t` of what they meet.
    fn eval_as(&self, env: &dyn Env, t: HostType) -> Result<Host, HostError> {
        let fail = |m: String| Err(HostError::Failed(m));
        Ok(match self {
            Expr::Literal(Host::Float(v)) => round(t, *v),
            Expr::Literal(h) => *h,
            Expr::Param(i, _) => env.param(*i).ok_or(HostError::Unknown)?,
            Expr::Dim(v, i) => {
                let rank = env.rank(*v).ok_or(HostError::Unknown)?;
                let Host::Int(i) = i.eval(env)? else {
                    return fail("a dim is not an integer".into());
                };
                let at = if i < 0 { i + rank as i64 } else { i };
                if at < 0 || at >= rank as i64 {
                    return fail(format!("dim {i} is out of range for a tensor of rank {rank}"));
                }
                Host::size(env.dim(*v, at as usize).ok_or(HostError::Unknown)?)
            }
            Expr::Rank(v) => Host::Int(env.rank(*v).ok_or(HostError::Unknown)? as i64),
            Expr::ElemCount(v) => {
                let rank = env.rank(*v).ok_or(HostError::Unknown)?;
                let mut n = Some(1usize);
                for i in 0..rank {
                    let d = env.dim(*v, i).ok_or(HostError::Unknown)?;
                    n = n.and_then(|n| n.checked_mul(d));
                }
                match n {
                    Some(n) => Host::size(n),
                    None => return fail("the element count overflows usize".into()),
                }
            }
            Expr::DTypeOf(v) => Host::DType(env.dtype(*v).ok_or(HostError::Unknown)?),
            Expr::SameShape(a, b) => Host::Bool(same_shape(env, *a, *b)?),
            Expr::Cast(t, a) => cast(*t, a.eval_as(env, a.host_type())?)?,
            Expr::Unary(op, a) => {
                let t = a.host_type().meet(t);
                unary(*op, t, a.eval_as(env, t)?)?
            }
            Expr::Binary(HostBinary::Powi, a, n) => {
                let t = a.host_type().meet(t);
                powi(t, a.eval_as(env, t)?, n.eval_as(env, HostType::I32)?)?
            }
            Expr::Binary(op @ (HostBinary::And | HostBinary::Or), a, b) => {
                match a.eval_as(env, HostType::Bool)? {
                    // the left side decides
                    Host::Bool(v) if v == (*op == HostBinary::Or) => Host::Bool(v),
                    a => binary(*op, HostType::Bool, a, b.eval_as(env, HostType::Bool)?)?,
                }
            }
            Expr::Binary(op, a, b) => {
                let operands = a.host_type().meet(b.host_type());
                let operands = if self.host_type() == HostType::Bool {
                    operands
                } else {
                    operands.meet(t)
                };
                binary(
                    *op,
                    operands,
                    a.eval_as(env, operands)?,
                    b.eval_as(env, operands)?,
                )?
            }
        })
    }
}

/// Whether two values have one shape; one size that differs tells.
fn same_shape(env: &dyn Env, a: Value, b: Value) -> Result<bool, HostError> {
    let rank = |v| env.rank(v).ok_or(HostError::Unknown);
    let n = rank(a)?;
    if n != rank(b)? {
        return Ok(false);
    }
    let mut same = Ok(true);
    for i in 0..n {
        match (env.dim(a, i), env.dim(b, i)) {
            (Some(x), Some(y)) if x != y => return Ok(false),
            (Some(_), Some(_)) => {}
            _ => same = Err(HostError::Unknown),
        }
    }
    same
}

fn cast(t: HostType, h: Host) -> Result<Host, HostError> {
    if let Some(v) = h.wide() {
        return Ok(match t {
            HostType::F32 => Host::Float(f64::from(v as f32)),
            HostType::F64 | HostType::FloatLiteral => Host::Float(v as f64),
            HostType::Usize if v < 0 => {
                return Err(HostError::Failed(format!("{v} as usize is not a size")));
            }
            HostType::Usize => Host::size(v as usize),
            HostType::I32 => Host::Int((v as i32).into()),
            HostType::U8 => Host::Int((v as u8).into()),
            HostType::I64 | HostType::IntLiteral => Host::Int(v as i64),
            HostType::Bool | HostType::DType | HostType::Number => h,
        });
    }
    let v = match h {
        Host::Float(v) => v,
        Host::Bool(v) => f64::from(u8::from(v)),
        other => return Ok(other),
    };
    Ok(match t {
        HostType::F32 => Host::Float(f64::from(v as f32)),
        HostType::F64 | HostType::FloatLiteral => Host::Float(v),
        HostType::Usize => Host::size(v as usize),
        HostType::I32 => Host::Int((v as i32).into()),
        HostType::U8 => Host::Int((v as u8).into()),
        HostType::I64 | HostType::IntLiteral => Host::Int(v as i64),
        HostType::Bool | HostType::DType | HostType::Number => h,
    })
}

fn round(t: HostType, v: f64) -> Host {
    Host::Float(if t == HostType::F32 {
        f64::from(v as f32)
    } else {
        v
    })
}

/// A function of the standard library, which has one of its own for `f32`.
fn library(t: HostType, v: f64, f32: fn(f32) -> f32, f64: fn(f64) -> f64) -> Host {
    Host::Float(if t == HostType::F32 {
        f32(v as f32).into()
    } else {
        f64(v)
    })
}

/// The integer as type `t`, unless it overflows.
fn integer(t: HostType, v: i128) -> Option<Host> {
    match t {
        HostType::Usize => usize::try_from(v).ok().map(Host::size),
        HostType::I32 => i32::try_from(v).ok().map(|v| Host::Int(v.into())),
        HostType::U8 => u8::try_from(v).ok().map(|v| Host::Int(v.into())),
        _ => i64::try_from(v).ok().map(Host::Int),
    }
}

/// By repeated squaring, as the function of the standard library.
fn powi(t: HostType, a: Host, n: Host) -> Result<Host, HostError> {
    let (Host::Float(mut square), Host::Int(n)) = (a, n) else {
        return Err(HostError::Failed(format!("powi does not take {a:?} and {n:?}")));
    };
    let Ok(n) = i32::try_from(n) else {
        return Err(HostError::Failed(format!("powi takes an i32, {n} is none")));
    };
    let rounded = |v: f64| {
        if t == HostType::F32 {
            f64::from(v as f32)
        } else {
            v
        }
    };
    let (mut power, mut left) = (1.0, n.unsigned_abs());
    loop {
        if left % 2 == 1 {
            power = rounded(power * square);
        }
        left /= 2;
        if left == 0 {
            break;
        }
        square = rounded(square * square);
    }
    Ok(Host::Float(if n < 0 { rounded(1.0 / power) } else { power }))
}

fn unary(op: HostUnary, t: HostType, a: Host) -> Result<Host, HostError> {
    Ok(match (op, a) {
        (HostUnary::Neg, Host::Int(v)) => integer(t, -i128::from(v))
            .ok_or_else(|| HostError::Failed(format!("-({v}) overflows an integer")))?,
        (HostUnary::Neg, Host::Float(v)) => Host::Float(-v),
        (HostUnary::Not, Host::Bool(v)) => Host::Bool(!v),
        (HostUnary::Sqrt, Host::Float(v)) => library(t, v, f32::sqrt, f64::sqrt),
        (HostUnary::Ln, Host::Float(v)) => library(t, v, f32::ln, f64::ln),
        (HostUnary::Exp, Host::Float(v)) => library(t, v, f32::exp, f64::exp),
        (HostUnary::Probability, Host::Float(p)) => match (0.0..=1.0).contains(&p) {
            true => Host::Float(p),
            false => return Err(HostError::Failed(format!("p is {p}\n{PROBABILITY}"))),
        },
        (op, a) => return Err(HostError::Failed(format!("{op:?} does not take {a:?}"))),
    })
}

fn integers(
    op: HostBinary,
    t: HostType,
    (a, x): (Host, i128),
    (b, y): (Host, i128),
) -> Result<Host, HostError> {
    use HostBinary::*;
    let symbol = op.symbol().0;
    let arith = |v: Option<i128>| {
        v.and_then(|v| integer(t, v)).ok_or_else(|| {
            let what = if t == HostType::Usize { "usize" } else { "integer" };
            HostError::Failed(format!("{x} {symbol} {y} overflows {what}"))
        })
    };
    if matches!(op, Div | Rem) && y == 0 {
        return Err(HostError::Failed(format!("{x} {symbol} 0 divides by zero")));
    }
    Ok(match op {
        Add => arith(x.checked_add(y))?,
        Sub => arith(x.checked_sub(y))?,
        Mul => arith(x.checked_mul(y))?,
        Div => arith(x.checked_div(y))?,
        // it overflows where the quotient does
        Rem => arith(x.checked_div(y)).and_then(|_| arith(x.checked_rem(y)))?,
        Min if x <= y => a,
        Max if x >= y => a,
        Min | Max => b,
        Pow => arith(u32::try_from(y).ok().and_then(|y| x.checked_pow(y)))?,
        Eq => Host::Bool(x == y),
        Ne => Host::Bool(x != y),
        Lt => Host::Bool(x < y),
        Le => Host::Bool(x <= y),
        Gt => Host::Bool(x > y),
        Ge => Host::Bool(x >= y),
        And | Or | Powi => {
            return Err(HostError::Failed(format!("{symbol} does not take {x} and {y}")));
        }
    })
}

fn binary(op: HostBinary, t: HostType, a: Host, b: Host) -> Result<Host, HostError> {
    use HostBinary::*;
    let mismatch = || HostError::Failed(format!("{} does not take {a:?} and {b:?}", op.symbol().0));
    if let (Some(x), Some(y)) = (a.wide(), b.wide()) {
        return integers(op, t, (a, x), (b, y));
    }
    match (a, b) {
        (Host::Float(x), Host::Float(y)) => Ok(match op {
            Add => round(t, x + y),
            Sub => round(t, x - y),
            Mul => round(t, x * y),
            Div => round(t, x / y),
            Rem => round(t, x % y),
            Min => Host::Float(x.min(y)),
            Max => Host::Float(x.max(y)),
            Pow if t == HostType::F32 => Host::Float((x as f32).powf(y as f32).into()),
            Pow => Host::Float(x.powf(y)),
            Eq => Host::Bool(x == y),
            Ne => Host::Bool(x != y),
            Lt => Host::Bool(x < y),
            Le => Host::Bool(x <= y),
            Gt => Host::Bool(x > y),
            Ge => Host::Bool(x >= y),
            And | Or | Powi => return Err(mismatch()),
        }),
        (Host::Bool(x), Host::Bool(y)) => match op {
            And => Ok(Host::Bool(x && y)),
            Or => Ok(Host::Bool(x || y)),
            Eq => Ok(Host::Bool(x == y)),
            Ne => Ok(Host::Bool(x != y)),
            _ => Err(mismatch()),
        },
        (Host::DType(x), Host::DType(y)) => match op {
            Eq => Ok(Host::Bool(x == y)),
            Ne => Ok(Host::Bool(x != y)),
            _ => Err(mismatch()),
        },
        _ => Err(mismatch()),
    }
}
