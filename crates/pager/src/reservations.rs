//! Address space that a program had reserved at some time, read from the text of `/proc/PID/maps`.

use libc::{PROT_READ, PROT_WRITE};
use std::ops::Range;

/// The least size of what is taken for a reservation, in bytes. The dynamic linker's own anonymous
/// memory is smaller.
const LEAST: usize = 2 << 20;

/// A private anonymous mapping, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub bytes: Range<usize>,
    pub prot: u32,
}

/// Read the text of `/proc/PID/maps`, without what is `ours`, which the kernel may have merged with
/// its neighbors. Adjacent anonymous mappings are one reservation. What follows a file's mapping is
/// its zeroed data.
pub fn parse(maps: &str, ours: &Range<usize>) -> Vec<Mapping> {
    let (mut reservations, mut group) = (Vec::new(), Vec::<Mapping>::new());
    let (mut end, mut of_file) = (0, false);
    for line in maps.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (Some(range), Some(rights), Some(inode)) = (fields.next(), fields.next(), fields.nth(2)) else { continue };
        let bounds =
            range.split_once('-').and_then(|(from, to)| Some(usize::from_str_radix(from, 16).ok()?..usize::from_str_radix(to, 16).ok()?));
        let Some(bytes) = bounds else { continue };
        let adjacent = bytes.start == end;
        end = bytes.end;
        let anonymous = inode == "0" && fields.next().is_none_or(|name| name.starts_with("[anon:"));
        let plain = anonymous && rights.ends_with('p') && !rights.contains('x');
        of_file = !plain || (adjacent && of_file);
        if of_file || !adjacent {
            keep(&mut reservations, &mut group);
        }
        if !of_file {
            let right = |letter, bit: i32| if rights.contains(letter) { bit as u32 } else { 0 };
            let prot = right('r', PROT_READ) | right('w', PROT_WRITE);
            let pieces = [bytes.start..bytes.end.min(ours.start), bytes.start.max(ours.end)..bytes.end];
            group.extend(pieces.into_iter().filter(|piece| !piece.is_empty()).map(|bytes| Mapping { bytes, prot }));
        }
    }
    keep(&mut reservations, &mut group);
    reservations
}

fn keep(reservations: &mut Vec<Mapping>, group: &mut Vec<Mapping>) {
    if group.iter().map(|mapping| mapping.bytes.len()).sum::<usize>() >= LEAST {
        reservations.append(group);
    }
    group.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_are_large_anonymous_mappings_beside_files_data_and_ours() {
        let maps = "\
            10000000-10400000 rw-p 00000000 00:00 0          [heap]\n\
            20000000-20001000 rw-p 00001000 08:01 77         /bin/program\n\
            20001000-20801000 rw-p 00000000 00:00 0 \n\
            30000000-30200000 rw-p 00000000 00:00 0 \n\
            30200000-31000000 ---p 00000000 00:00 0 \n\
            40000000-40001000 rw-p 00000000 00:00 0 \n\
            50000000-50800000 rwxp 00000000 00:00 0 \n\
            60000000-60800000 rw-s 00000000 00:01 9          /dev/zero\n\
            70000000-71000000 ---p 00000000 00:00 0          [anon:partition_alloc]\n";
        let mapping = |bytes, prot| Mapping { bytes, prot };
        let found = parse(maps, &(0x70400000..0x70800000));
        let expected = [
            mapping(0x30000000..0x30200000, 3),
            mapping(0x30200000..0x31000000, 0),
            mapping(0x70000000..0x70400000, 0),
            mapping(0x70800000..0x71000000, 0),
        ];
        assert_eq!(found, expected);
        assert!(parse("", &(0..0)).is_empty());
    }
}
