//! Aligned memory from plain blocks, for glibc.
//!
//! glibc (2.36) serves an aligned request from a larger block and keeps the remainders apart when the request is freed,
//! so the freed block is too short for the next request of the same size. A matrix product on cores with AVX-512 asks
//! for 360 kB with 64-byte alignment: after a first index, a hundred such blocks were free and unusable. A plain block
//! of size and alignment together can be reused each time.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;

/// Alignment of every block from `malloc` on 64-bit systems, bytes.
const PLAIN: usize = 16;

/// The system's allocator, with plain blocks for requests that are aligned to more than 16 bytes. Such a block is
/// longer than the request by its alignment; the word in front of the address that is handed out holds its start.
pub(crate) struct Aligned;

/// The layout of the plain block that holds `layout`, with room for a word in front of any aligned address.
fn around(layout: Layout) -> Option<Layout> {
    let size = layout.size().checked_add(layout.align())?;
    Layout::from_size_align(size, PLAIN).ok()
}

// SAFETY: requests that `malloc` aligns anyway go to `System` unchanged. Of others, `alloc` returns an address within a
// block of `System` that is aligned and has `layout.size()` bytes behind it; `dealloc` finds the block's start in front
// of it. Both decide by the same layout, as does `realloc`. Nothing here panics.
unsafe impl GlobalAlloc for Aligned {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= PLAIN {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc(layout) };
        }
        let Some(plain) = around(layout) else { return null_mut() };
        // SAFETY: `plain` is not empty, as the alignment is part of it.
        let block = unsafe { System.alloc(plain) };
        if block.is_null() {
            return block;
        }
        // At least 16, since the block and the result are both multiples of 16; at most the alignment.
        let skipped = layout.align() - block.addr() % layout.align();
        // SAFETY: `skipped` and the request together lie within the block, and so does the word in front.
        unsafe {
            let address = block.add(skipped);
            address.cast::<*mut u8>().sub(1).write(block);
            address
        }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        if layout.align() <= PLAIN {
            // SAFETY: the caller's promise.
            return unsafe { System.dealloc(address, layout) };
        }
        let Some(plain) = around(layout) else { return };
        // SAFETY: `alloc` wrote the start of the block, which has this layout, in front of what it returned.
        unsafe { System.dealloc(address.cast::<*mut u8>().sub(1).read(), plain) };
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= PLAIN {
            // SAFETY: the caller's promise. Fresh pages need no clearing, which only `System` knows.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: the caller's promise, and what `alloc` returns has `layout.size()` bytes.
        unsafe {
            let address = self.alloc(layout);
            if !address.is_null() {
                address.write_bytes(0, layout.size());
            }
            address
        }
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.align() <= PLAIN {
            // SAFETY: the caller's promise. Large blocks are moved by their pages, without a copy.
            return unsafe { System.realloc(address, layout, size) };
        }
        // SAFETY: the caller promises that `size` with this alignment is a layout; old and new block do not overlap.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                address.copy_to_nonoverlapping(moved, layout.size().min(size));
                self.dealloc(address, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sizes about the alignments, and those of the buffers of matrix products.
    fn sizes() -> impl Strategy<Value = usize> {
        prop_oneof![1_usize..300, 359_000_usize..361_000]
    }

    fn layout_of(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).expect("a power of two, and no overflow")
    }

    proptest! {
        /// Blocks that live at once are aligned, do not overlap, and keep their contents when they grow or shrink.
        #[test]
        fn blocks_are_aligned_and_keep_their_contents(
            wanted in prop::collection::vec((0_u32..14, sizes(), sizes(), any::<bool>()), 1..12),
        ) {
            let blocks: Vec<_> = wanted.iter().enumerate().map(|(n, &(power, size, _, zeroed))| {
                let layout = layout_of(size, 1 << power);
                // SAFETY: no size is 0; the block is filled within its size.
                let address = unsafe {
                    let address = if zeroed { Aligned.alloc_zeroed(layout) } else { Aligned.alloc(layout) };
                    assert!(!address.is_null() && address.addr() % layout.align() == 0);
                    if zeroed {
                        assert!(std::slice::from_raw_parts(address, size).iter().all(|byte| *byte == 0));
                    }
                    address.write_bytes(n as u8 + 1, size);
                    address
                };
                (address, layout)
            }).collect();
            for (n, (&(_, _, new_size, _), (address, layout))) in wanted.iter().zip(blocks).enumerate() {
                // SAFETY: each block is resized once and freed once, with the layout it has.
                unsafe {
                    let moved = Aligned.realloc(address, layout, new_size);
                    assert!(!moved.is_null() && moved.addr() % layout.align() == 0);
                    let kept = std::slice::from_raw_parts(moved, layout.size().min(new_size));
                    assert!(kept.iter().all(|byte| *byte == n as u8 + 1));
                    Aligned.dealloc(moved, layout_of(new_size, layout.align()));
                }
            }
        }
    }

    /// What cannot exist is refused with a null pointer, as the trait asks, and not with a panic.
    #[test]
    fn a_request_beyond_the_address_space_is_refused() {
        let layout = layout_of(isize::MAX as usize - 63, 64);
        // SAFETY: the layout is not empty; a null pointer needs no `dealloc`.
        assert!(unsafe { Aligned.alloc(layout) }.is_null());
        // SAFETY: as above.
        assert!(unsafe { Aligned.alloc_zeroed(layout) }.is_null());
    }
}
