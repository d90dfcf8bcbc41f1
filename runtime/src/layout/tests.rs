use super::*;

fn l(shape: &[usize]) -> Layout {
    Layout::contiguous(shape).unwrap()
}

/// Positions of all elements in logical order.
fn walk(l: &Layout) -> Vec<usize> {
    let mut out = vec![l.offset()];
    for (&n, &s) in l.shape().iter().zip(l.strides()) {
        out = out.iter().flat_map(|&p| (0..n).map(move |i| p + i * s)).collect();
    }
    out
}

#[test]
fn contiguity() {
    assert!(l(&[]).is_contiguous());
    assert_eq!(l(&[]).elem_count(), 1);
    assert_eq!(l(&[2, 0, 3]).strides(), [3, 3, 1]);
    assert!(l(&[2, 0, 3]).transpose(0, 2).unwrap().is_contiguous());
    assert!(l(&[3, 1, 4]).transpose(0, 1).unwrap().is_contiguous());
    let t = l(&[3, 4]).t().unwrap();
    assert!(!t.is_contiguous() && t.is_dense());
    assert!(!l(&[3, 1]).expand(&[3, 5]).unwrap().is_dense());
    assert!(!l(&[3, 4]).slice(1, 0, 4, 2).unwrap().is_dense());
}

#[test]
fn views_walk_the_right_elements() {
    let a = l(&[2, 3, 4]);
    assert_eq!(walk(&a.select(1, -1).unwrap()), [8, 9, 10, 11, 20, 21, 22, 23]);
    assert_eq!(walk(&a.narrow(2, -2, 1).unwrap()), [2, 6, 10, 14, 18, 22]);
    assert_eq!(
        walk(&a.slice(2, 1, i64::MAX, 2).unwrap().select(0, 1).unwrap()),
        [13, 15, 17, 19, 21, 23]
    );
    assert_eq!(a.movedim(0, -1).unwrap().shape(), [3, 4, 2]);
    assert_eq!(a.permute(&[-1, 0, 1]).unwrap().strides(), [1, 12, 4]);
    assert_eq!(a.unsqueeze(-1).unwrap().shape(), [2, 3, 4, 1]);
    assert_eq!(a.unsqueeze(0).unwrap().squeeze(0).unwrap(), a);
    assert_eq!(a.squeeze(0).unwrap(), a);
    assert_eq!(
        walk(&l(&[2, 1]).expand(&[2, 2, 3]).unwrap()),
        [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]
    );
    assert_eq!(a.slice(1, 5, 9, 1).unwrap().shape(), [2, 0, 4]);
    assert_eq!(a.slice(1, -100, -1, i64::MAX).unwrap().shape(), [2, 1, 4]);
}

#[test]
fn reshape_is_a_view_exactly_when_the_elements_allow() {
    let a = l(&[2, 3, 4]);
    for (view, to, is_view) in [
        (a.clone(), &[4usize, 6][..], true),
        (a.transpose(0, 1).unwrap(), &[3, 8][..], false),
        (a.transpose(0, 1).unwrap(), &[3, 2, 2, 2][..], true),
        (a.transpose(0, 1).unwrap(), &[3, 1, 2, 4, 1][..], true),
        (a.narrow(0, 1, 1).unwrap(), &[12][..], true),
        (a.narrow(1, 1, 2).unwrap(), &[2, 8][..], true),
        (a.narrow(1, 1, 2).unwrap(), &[16][..], false),
        (l(&[3, 1]).expand(&[3, 4]).unwrap(), &[3, 2, 2][..], true),
        (l(&[3, 1]).expand(&[3, 4]).unwrap(), &[12][..], false),
        (a.slice(2, 0, 4, 2).unwrap(), &[12][..], true),
    ] {
        match view.reshaped(to) {
            Some(r) => {
                assert!(is_view, "{view:?} to {to:?}");
                assert_eq!(walk(&r), walk(&view), "{view:?} to {to:?}");
            }
            None => assert!(!is_view, "{view:?} to {to:?}"),
        }
    }
    assert_eq!(l(&[0, 3]).reshaped(&[5, 0]).unwrap().shape(), [5, 0]);
    assert_eq!(l(&[1]).reshaped(&[]).unwrap().rank(), 0);
    assert!(l(&[4]).reshaped(&[5]).is_none());
}

#[test]
fn inference() {
    let a = l(&[3, 4]);
    assert_eq!(a.infer("reshape", &[2, -1]).unwrap()[..], [2, 6]);
    assert_eq!(l(&[0, 3]).infer("reshape", &[3, -1]).unwrap()[..], [3, 0]);
    assert_eq!(a.flattened(0, -1).unwrap()[..], [12]);
    assert_eq!(l(&[]).flattened(0, -1).unwrap()[..], [1]);
    let text = |w: &[i64]| a.infer("reshape", w).unwrap_err().to_string();
    assert!(
        text(&[5, 5]).contains("12 elements") && text(&[5, 5]).contains("reshape"),
        "{}",
        text(&[5, 5])
    );
    assert!(text(&[-1, -1]).contains("[-1, -1]"));
    assert!(text(&[-2, 6]).contains("-2 is negative"));
    assert!(text(&[-1, 0]).contains("any size"));
    assert!(text(&[5, -1]).contains("multiple of 5"));
}

#[test]
fn nothing_overflows() {
    assert!(Layout::contiguous(&[usize::MAX, 2]).is_err());
    assert!(Layout::contiguous(&[usize::MAX, 0, 2]).is_err());
    assert!(Layout::contiguous(&[1 << 40, 1 << 22]).is_ok());
    assert!(Layout::contiguous(&[1 << 40, 1 << 23]).is_err());
    assert!(l(&[1]).expand(&[1 << 40, 1 << 40]).is_err());
    assert!(l(&[1]).expand(&[i64::MAX]).is_ok());
    assert!(Layout::new(SmallVec::from_slice(&[3]), SmallVec::from_slice(&[usize::MAX]), 0).is_err());
    assert!(l(&[2, 3]).infer("reshape", &[i64::MAX, i64::MAX]).is_err());
    assert!(l(&[2, 3]).narrow(0, 1, i64::MAX).is_err());
    assert!(l(&[2, 3]).narrow(0, i64::MIN, 1).is_err());
    assert!(l(&[2, 3]).select(0, i64::MIN).is_err());
    assert!(l(&[2, 3]).slice(0, i64::MIN, i64::MIN, 1).unwrap().elem_count() == 0);
    let odd = Layout::new(
        SmallVec::from_slice(&[1, 3]),
        SmallVec::from_slice(&[usize::MAX, 2]),
        0,
    )
    .unwrap();
    assert_eq!(odd.unsqueeze(0).unwrap().slice(1, 0, 1, 7).unwrap().end(), 5);
    let big = l(&[1 << 33]);
    assert_eq!(big.select(0, (1 << 33) - 1).unwrap().offset(), (1 << 33) - 1);
}

#[test]
fn positions_beyond_32_bits() {
    let (n, m) = (70_000, 60_000);
    let a = l(&[n, m]);
    assert_eq!((a.elem_count(), a.end()), (n * m, n * m));
    let last = a.select(0, -1).unwrap();
    assert_eq!((last.offset(), last.end()), ((n - 1) * m, n * m));
    let corner = a.narrow(0, 69_998, 2).unwrap().narrow(1, -1, 1).unwrap();
    assert_eq!(walk(&corner), [(n - 2) * m + m - 1, n * m - 1]);
    let stepped = a
        .slice(0, 0, i64::MAX, 69_999)
        .unwrap()
        .slice(1, 5, 7, 1)
        .unwrap();
    assert_eq!(walk(&stepped), [5, 6, (n - 1) * m + 5, (n - 1) * m + 6]);
    assert_eq!(walk(&corner.t().unwrap()), walk(&corner));
    let column = a.t().unwrap().select(0, -1).unwrap();
    assert_eq!(
        (column.strides(), column.offset(), column.end()),
        (&[m][..], m - 1, n * m)
    );
    // reshapes: of all, of a part that stays a view, and of one that does not
    let flat = a.reshaped(&[n * m]).unwrap();
    assert_eq!(flat.select(0, -1).unwrap().offset(), n * m - 1);
    assert_eq!(a.infer("reshape", &[2, -1]).unwrap()[..], [2, n * m / 2]);
    assert_eq!(a.flattened(0, -1).unwrap()[..], [n * m]);
    let rows = a.narrow(1, 0, 50_000).unwrap();
    assert_eq!(
        rows.reshaped(&[7, 10_000, 50_000]).unwrap().strides(),
        [10_000 * m, m, 1]
    );
    assert!(rows.reshaped(&[n * 50_000]).is_none() && !rows.is_dense());
    assert!(a.t().unwrap().is_dense() && !a.t().unwrap().is_contiguous());
    // broadcasting counts elements, not memory
    let wide = a.unsqueeze(0).unwrap().expand(&[1 << 30, -1, -1]).unwrap();
    assert_eq!(
        (wide.elem_count(), wide.end(), wide.strides()),
        ((n * m) << 30, n * m, &[0, m, 1][..])
    );
    assert!(a.unsqueeze(0).unwrap().expand(&[1 << 32, -1, -1]).is_err());
    assert_eq!(
        wide.transpose(0, 2).unwrap().narrow(2, 1 << 29, 3).unwrap().end(),
        n * m
    );
    let chain = a.unsqueeze(2).unwrap().broadcast_to("add", &[n, m, 5]).unwrap();
    assert_eq!(
        chain.select(0, -1).unwrap().select(0, -1).unwrap().offset(),
        n * m - 1
    );
}

#[test]
fn bad_arguments_are_named() {
    let a = l(&[2, 3]);
    let text = |r: Result<Layout>| r.unwrap_err().to_string();
    assert!(text(a.transpose(0, 2)).contains("transpose: dim 2 is out of range for rank 2"));
    assert!(text(a.permute(&[0, 0])).contains("repeat"));
    assert!(text(a.permute(&[0])).contains("wrong length"));
    assert!(text(a.expand(&[2, 4])).contains("[2, 3]"));
    assert!(text(a.expand(&[-1, 2, 3])).contains("new dim"));
    assert!(text(a.select(1, 3)).contains("index 3 is out of range"));
    assert!(text(a.slice(0, 0, 2, 0)).contains("step 0"));
    assert!(text(l(&[2, 2, 2]).t()).contains("transpose(-2, -1)"));
    assert!(text(l(&[]).select(0, 0)).contains("rank 0"));
}
