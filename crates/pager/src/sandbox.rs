//! Whether a program has forbidden itself system calls (seccomp) since it started. Such a program
//! may be ended by a call that the start of a pager thread makes.

/// The number of seccomp filters of a thread and its mode, as the kernel writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox(Option<String>);

impl Sandbox {
    /// The filters of the calling thread. A thread whose state cannot be read has others than
    /// before.
    pub fn of_this_thread() -> Sandbox {
        Sandbox(std::fs::read_to_string("/proc/thread-self/status").ok().map(|status| seccomp(&status)))
    }
}

/// The lines about seccomp in the text of `/proc/PID/status`.
fn seccomp(status: &str) -> String {
    status.lines().filter(|line| line.starts_with("Seccomp")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lines_about_seccomp_matter() {
        let status = |pid, filters| format!("Name:\tx\nPid:\t{pid}\nSeccomp:\t2\nSeccomp_filters:\t{filters}\n");
        assert_eq!(seccomp(&status(1, 1)), seccomp(&status(2, 1)));
        assert_ne!(seccomp(&status(1, 1)), seccomp(&status(1, 2)));
        assert_eq!(Sandbox::of_this_thread(), Sandbox::of_this_thread());
    }
}
