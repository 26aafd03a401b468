//! Memory that is freed and needed again in every step of a training.

/// Size of a block whose release makes glibc keep freed memory: the largest by which it still adapts.
const LARGEST_BLOCK: usize = 31 << 20;

/// Lets the program keep what it frees, up to twice the size of this block.
///
/// Layers take and free megabytes in each step. The allocator of glibc gives them back to the system and gets them page by
/// page again, a quarter of a step's time, until it has seen a larger block freed (`mallopt(3)`, `M_MMAP_THRESHOLD`). The
/// block here is never written to and costs nothing; with other allocators this does nothing.
pub(crate) fn keep_freed_memory() {
    drop(std::hint::black_box(vec![0_u8; LARGEST_BLOCK]));
}
