//! The passes of reclaimers that wait while another one has the processor.

/// A pass of reclaim.
pub trait Pass: Clone {
    /// Whether it is background reclaim's.
    fn is_background(&self) -> bool;
}

/// The suspended pass of background reclaim, while a direct reclaimer runs, and that of a direct
/// reclaimer which goes on after background reclaim.
pub struct Suspended<P> {
    kswapd: Option<P>,
    direct: Option<P>,
}

impl<P: Pass> Suspended<P> {
    pub fn new() -> Suspended<P> {
        Suspended { kswapd: None, direct: None }
    }

    /// A reclaimer begins; `pass` is that of the previous one.
    pub fn begin(&mut self, pass: &P) {
        if pass.is_background() {
            self.kswapd = Some(pass.clone());
        }
    }

    /// Background reclaim resumes its pass. `goes_on`: whether the direct reclaimer that has run
    /// will resume its own.
    pub fn resume_kswapd(&mut self, pass: &mut P, goes_on: bool) {
        if !pass.is_background() {
            self.direct = goes_on.then(|| pass.clone());
            if let Some(kswapd) = self.kswapd.take() {
                *pass = kswapd;
            }
        }
    }

    /// A direct reclaimer resumes its pass.
    pub fn resume_direct(&mut self, pass: &mut P) {
        if let Some(direct) = self.direct.take() {
            self.kswapd = Some(std::mem::replace(pass, direct));
        }
    }
}
