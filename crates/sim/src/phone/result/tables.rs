//! Writes the records of every run as CSV files, one per table, from which the parquet files of the
//! run folder are made.

use super::finished_run::FinishedRun;
use crate::phone::machine::senders::Sender;
use crate::phone::user::owner::{shared_number, SYSTEM};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use swaplab_swap::Medium;
use swaplab_vocab::{AppId, BadInput, Result};

/// Name of each table, and its columns after `design` and `seed`.
const TABLES: [(&str, &str); 7] = [
    (
        "launches",
        "launch,at_ns,app,start,ready_ns,cpu_ns,fault_cpu_ns,decompress_ns,swap_read_dram_ns,swap_read_pool_ns,swap_read_nvm_ns,\
         swap_read_flash_ns,swap_read_sd_card_ns,direct_read_ns,file_read_ns,file_cache_ns,file_write_ns,queue_ns,direct_reclaim_ns,\
         write_back_ns,kswapd_ns,faults,swapped_in,file_reads,psi_some_ns",
    ),
    ("queue_waits", "launch,sender,owner,wait_ns"),
    ("timeline", "at_ns,free,app_anon,system_anon,file,graphics,kernel,swap,pool_bytes,live"),
    ("swap_entries", "page,owner,reads,born_ns,freed_ns,freed,died_ns"),
    ("kills", "at_ns,app,adjustment,reason,frames,swapped"),
    ("traffic", "owner,swapped_out,swapped_in,direct_reads,file_reads,rejected"),
    ("energy", "part,joules"),
];

/// The open files, in the order of `TABLES`.
pub struct Tables(Vec<BufWriter<File>>);

impl Tables {
    /// Create `NAME.csv` of each table in `folder`, with its header.
    pub fn create(folder: &Path) -> Result<Tables> {
        let open = |(name, columns): &(&str, &str)| {
            let path = folder.join(format!("{name}.csv"));
            let mut file = BufWriter::new(File::create(&path).map_err(|e| failed(&path, &e))?);
            writeln!(file, "design,seed,{columns}").map_err(|e| failed(&path, &e))?;
            Ok(file)
        };
        Ok(Tables(TABLES.iter().map(open).collect::<Result<_>>()?))
    }

    /// Write the runs of the design with this name, in the order of seeds. `apps` are names by id.
    pub fn write(&mut self, design: &str, runs: &[FinishedRun], apps: &[String]) -> Result<()> {
        let design = quoted(design);
        let names: Vec<String> = apps.iter().map(|name| quoted(name)).collect();
        let shared: Vec<String> = runs.first().map_or(Vec::new(), |run| run.record.shared.iter().map(|name| quoted(name)).collect());
        let name = |owner: AppId| match shared_number(owner) {
            _ if owner == SYSTEM => "system",
            Some(number) => shared[number].as_str(),
            None => names[usize::from(owner)].as_str(),
        };
        runs.iter().try_for_each(|run| self.run(&format!("{design},{}", run.seed), run, &name)).map_err(|e| failed(Path::new("tables"), &e))
    }

    /// Flush all files.
    pub fn finish(mut self) -> Result<()> {
        self.0.iter_mut().try_for_each(Write::flush).map_err(|e| failed(Path::new("tables"), &e))
    }

    fn run<'a>(&mut self, key: &str, run: &FinishedRun, name: &dyn Fn(AppId) -> &'a str) -> std::io::Result<()> {
        let [launches, waits, timeline, entries, kills, traffic, energy] = &mut self.0[..] else { unreachable!("seven tables") };
        let record = &run.record;
        for (at, row) in record.launches.iter().enumerate() {
            let s = &row.stalls;
            let start = if row.start == swaplab_apps::Start::Cold { "cold" } else { "resume" };
            write!(launches, "{key},{},{},{},{start},{},{}", at + 1, row.at_ns, name(row.app), row.ready_ns(), row.cpu_ns)?;
            write!(launches, ",{},{}", s.fault_cpu_ns, s.decompress_ns)?;
            for medium in Medium::ALL {
                write!(launches, ",{}", s.swap_read_ns[medium as usize])?;
            }
            write!(launches, ",{},{},{},{}", s.direct_read_ns, s.file_read_ns, s.file_cache_ns, s.file_write_ns)?;
            write!(launches, ",{},{}", s.queue_ns, s.direct_reclaim_ns)?;
            write!(launches, ",{},{}", s.write_back_ns, s.kswapd_ns)?;
            writeln!(launches, ",{},{},{},{}", row.faults, row.swapped_in, row.file_reads, row.psi_some_ns)?;
            for (sender, wait_ns) in &row.waits {
                let owner = if let Sender::SwapOut(owner) = sender { name(*owner) } else { "" };
                writeln!(waits, "{key},{},{},{owner},{wait_ns}", at + 1, sender.name())?;
            }
        }
        for s in &record.timeline {
            write!(timeline, "{key},{},{},{},{},{}", s.at_ns, s.free, s.app_anon, s.system_anon, s.file)?;
            writeln!(timeline, ",{},{},{},{},{}", s.graphics, s.kernel, s.swap, s.pool_bytes, s.live)?;
        }
        for (e, died_ns) in run.stays.iter() {
            write!(entries, "{key},{},{},{},{}", e.page, name(e.owner), e.reads, e.born_ns)?;
            let (freed_ns, freed) = e.freed().map_or((String::new(), ""), |(ns, how)| (ns.to_string(), how.name()));
            writeln!(entries, ",{freed_ns},{freed},{}", died_ns.map_or(String::new(), |ns| ns.to_string()))?;
        }
        for k in &record.kills {
            writeln!(kills, "{key},{},{},{},{},{},{}", k.at_ns, name(k.app), k.adjustment, k.reason.name(), k.frames, k.swapped)?;
        }
        for (owner, t) in record.traffic.iter().enumerate() {
            let owner = record.owner_at(owner);
            let counts = [t.swapped_out, t.swapped_in, t.direct_reads, t.file_reads, t.rejected].map(|n| n.to_string()).join(",");
            writeln!(traffic, "{key},{},{counts}", name(owner))?;
        }
        let total = ("total", run.energy.total_j);
        for (part, joules) in run.energy.parts_j.iter().map(|(part, joules)| (part.as_str(), *joules)).chain([total]) {
            writeln!(energy, "{key},{part},{}", joules.map_or(String::new(), |j| j.to_string()))?;
        }
        Ok(())
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn failed(path: &Path, error: &std::io::Error) -> BadInput {
    BadInput::new(path.display().to_string(), error.to_string(), "a folder that tables can be written to")
}
