//! The state that a flow keeps for each packet of its window.

/// One bit for each packet of a window that moves on.
#[derive(Clone, Debug)]
pub(super) struct Bits<B>(pub B);

impl<B: AsRef<[u64]> + AsMut<[u64]>> Bits<B> {
    fn place(&self, number: u32) -> (usize, u64) {
        let word = (number / u64::BITS) as usize % self.0.as_ref().len();
        (word, 1 << (number % u64::BITS))
    }

    pub fn has(&self, number: u32) -> bool {
        let (word, bit) = self.place(number);
        self.0.as_ref()[word] & bit != 0
    }

    /// Sets the bit of a packet; answers what it was.
    pub fn set(&mut self, number: u32) -> bool {
        let (word, bit) = self.place(number);
        let word = &mut self.0.as_mut()[word];
        let was = *word & bit != 0;
        *word |= bit;
        was
    }

    /// Clears the bit of a packet; answers what it was.
    pub fn take(&mut self, number: u32) -> bool {
        let (word, bit) = self.place(number);
        let word = &mut self.0.as_mut()[word];
        let was = *word & bit != 0;
        *word &= !bit;
        was
    }
}

/// The sender's state for packets that switches may trim.
#[derive(Clone, Debug)]
pub(super) struct Trims<B> {
    /// Of packets that were trimmed or have timed out, and have not been sent again.
    pub lost: Bits<B>,
    /// Of packets sent again since the timer was started.
    pub again: Bits<B>,
    /// `again` is not empty.
    any_again: bool,
    /// No packet from here on had been sent when the timer was started.
    pub timed: u32,
}

impl<B: AsRef<[u64]> + AsMut<[u64]>> Trims<B> {
    /// Of a flow of which nothing has been sent; the bitmaps are zeros.
    pub fn new([lost, again]: [B; 2]) -> Self {
        Self {
            lost: Bits(lost),
            again: Bits(again),
            any_again: false,
            timed: 0,
        }
    }

    /// A packet is sent again.
    pub fn send_again(&mut self, number: u32) {
        self.again.set(number);
        self.any_again = true;
    }

    /// The timer starts when all packets before `highest` have been sent.
    pub fn start_timer(&mut self, highest: u32) {
        self.timed = highest;
        if self.any_again {
            self.any_again = false;
            self.again.0.as_mut().fill(0);
        }
    }
}
