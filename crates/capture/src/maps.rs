//! Mappings of the traced process: the ranges already declared to the trace, and a reader of
//! `/proc` for other ranges.

use crate::stream::Span;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use swaplab_vocab::Class;

/// Disjoint ranges of pages whose mappings are declared in the trace.
#[derive(Default)]
pub struct Declared(BTreeMap<u64, u64>);

impl Declared {
    pub fn contains(&self, page: u64) -> bool {
        self.0.range(..=page).next_back().is_some_and(|(_, end)| page < *end)
    }

    pub fn insert(&mut self, span: Span) {
        self.remove(span);
        if span.pages > 0 {
            self.0.insert(span.first, span.end());
        }
    }

    pub fn remove(&mut self, span: Span) {
        while let Some((&first, &end)) = self.0.range(..span.end()).next_back().filter(|(_, end)| **end > span.first) {
            self.0.remove(&first);
            if end > span.end() {
                self.0.insert(span.end(), end);
            }
            if first < span.first {
                self.0.insert(first, span.first);
            }
        }
    }

    /// The undeclared part of `span` around `page`.
    pub fn gap(&self, span: Span, page: u64) -> Span {
        let first = self.0.range(..=page).next_back().map_or(span.first, |(_, end)| span.first.max(*end));
        let end = self.0.range(page..).next().map_or(span.end(), |(next, _)| span.end().min(*next));
        Span { first, pages: end - first }
    }
}

/// A mapped region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    pub span: Span,
    pub class: Class,
    pub file: Option<String>,
    /// Offset in the file, in pages.
    pub offset: u64,
}

impl Region {
    /// A mapping of `file`. Files in memory (shared anonymous memory, memfd) are backed by swap, so
    /// their pages count as anonymous.
    pub fn of_file(span: Span, shared: bool, file: String, offset: u64) -> Region {
        let in_memory = ["/memfd:", "/dev/zero", "/dev/shm/", "/SYSV", "/anon_hugepage"].iter().any(|p| file.starts_with(p));
        match (in_memory, shared) {
            (true, true) => Region::anonymous(span),
            (_, true) => Region { span, class: Class::Shared, file: Some(file), offset },
            (_, false) => Region { span, class: Class::File, file: Some(file), offset },
        }
    }

    pub fn anonymous(span: Span) -> Region {
        Region { span, class: Class::Anonymous, file: None, offset: 0 }
    }
}

/// Access to the captured process through `/proc`.
pub struct Process {
    folder: PathBuf,
    /// Whether its memory may be read, because it is stopped meanwhile.
    stopped: bool,
    /// Difference between an address in `/proc` and the program's address, a multiple of the page
    /// size.
    pub base: u64,
}

impl Process {
    /// The process that this code runs in, as for the plugin.
    pub fn own() -> Process {
        Process { folder: "/proc/self".into(), stopped: true, base: 0 }
    }

    /// Another process, which keeps running while it is examined.
    pub fn other(pid: u32) -> Process {
        Process { folder: format!("/proc/{pid}").into(), stopped: false, base: 0 }
    }

    /// The mapping around `page`.
    pub fn region(&self, page: u64) -> Option<Region> {
        let text = std::fs::read(self.folder.join("maps")).ok()?;
        let page = page + (self.base >> 12);
        let mut region =
            String::from_utf8_lossy(&text).lines().filter_map(parse_line).find(|r| (r.span.first..r.span.end()).contains(&page))?;
        // Clip the region at the program's address 0.
        let below = (self.base >> 12).saturating_sub(region.span.first);
        region.offset += below;
        region.span = Span { first: region.span.first + below - (self.base >> 12), pages: region.span.pages - below };
        Some(region)
    }

    /// The path of an open file.
    pub fn file(&self, descriptor: u64) -> Option<String> {
        let path = std::fs::read_link(self.folder.join("fd").join(descriptor.to_string())).ok()?;
        Some(path.to_string_lossy().into_owned())
    }

    /// Read `N` words of the process's memory.
    pub fn words<const N: usize>(&self, address: u64) -> Option<[u64; N]> {
        let memory = self.stopped.then(|| File::open(self.folder.join("mem")).ok())??;
        let mut bytes = vec![0; 8 * N];
        memory.read_exact_at(&mut bytes, address + self.base).ok()?;
        let word = |i: usize| u64::from_le_bytes(bytes[8 * i..8 * i + 8].try_into().expect("eight bytes"));
        Some(std::array::from_fn(word))
    }
}

/// Parse a line of `/proc/PID/maps`.
fn parse_line(line: &str) -> Option<Region> {
    let mut fields = line.splitn(6, ' ');
    let (from, to) = fields.next()?.split_once('-')?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (from, to) = (hex(from)?, hex(to)?);
    let shared = fields.next()?.ends_with('s');
    let offset = hex(fields.next()?)?;
    let inode = fields.nth(1)?;
    let name = fields.next().unwrap_or("").trim_start();
    let span = Span::of_bytes(from, to - from);
    Some(if inode == "0" { Region::anonymous(span) } else { Region::of_file(span, shared, name.into(), offset >> 12) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_a_maps_file() {
        let private = "7f0000001000-7f0000003000 r-xp 00002000 fe:01 1234                       /usr/lib/a b.so";
        let region = parse_line(private).unwrap();
        assert_eq!((region.span, region.class, region.offset), (Span { first: 0x7f0000001, pages: 2 }, Class::File, 2));
        assert_eq!(region.file.as_deref(), Some("/usr/lib/a b.so"));
        let class = |line| parse_line(line).unwrap().class;
        assert_eq!(class("00400000-00401000 rw-p 00000000 00:00 0 "), Class::Anonymous);
        assert_eq!(class("7ffd0000-7ffe0000 rw-p 00000000 00:00 0                          [stack]"), Class::Anonymous);
        assert_eq!(class("00400000-00401000 rw-s 00000000 fe:01 77                         /var/lib/db"), Class::Shared);
        assert_eq!(class("00400000-00401000 rw-s 00000000 00:01 78                         /dev/zero (deleted)"), Class::Anonymous);
        assert_eq!(parse_line("nonsense"), None);
    }

    #[test]
    fn the_own_stack_is_found_and_read() {
        let value = [7u64, 11];
        let address = value.as_ptr() as u64;
        assert_eq!(Process::own().region(address >> 12).unwrap().class, Class::Anonymous);
        assert_eq!(Process::own().words::<2>(address), Some(value));
    }

    proptest! {
        #[test]
        fn declared_ranges_agree_with_a_plain_set(steps in prop::collection::vec((any::<bool>(), 0u64..40, 0u64..12), 0..40), page in 0u64..60) {
            let mut ranges = Declared::default();
            let mut plain = [false; 64];
            for (insert, first, pages) in steps {
                let span = Span { first, pages };
                if insert { ranges.insert(span) } else { ranges.remove(span) }
                (first..first + pages).for_each(|p| plain[p as usize] = insert);
            }
            for p in 0..64 {
                prop_assert_eq!(ranges.contains(p), plain[p as usize]);
            }
            if !plain[page as usize] {
                let gap = ranges.gap(Span { first: 0, pages: 64 }, page);
                prop_assert!((gap.first..gap.end()).contains(&page));
                prop_assert!((gap.first..gap.end()).all(|p| !plain[p as usize]));
                prop_assert!(gap.first == 0 || plain[gap.first as usize - 1]);
                prop_assert!(gap.end() == 64 || plain[gap.end() as usize]);
            }
        }
    }
}
