//! A real Slurm on this machine runs the printed script; a task is requeued, and the controller is killed and comes back.

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use crate::Sandbox;
use crate::sweep::{files, planned, serial};

/// Shards of some seconds each, so that there is a task to be requeued.
const PLAN: &str = "data = [\"data.csv\"]\nmethods = [\"simulated\"]\nbootstrap = 6\n\n\
                    [simulated]\nsteps = 1500\nhidden_size = 16\n";
/// What takes longer has failed.
const LONGEST: Duration = Duration::from_secs(900);

/// Where `cargo xtask test` unpacks Debian's packages.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn unpacked() -> Option<PathBuf> {
    let folder = std::env::var_os("DRIFTGRAPH_SLURM").map(PathBuf::from);
    let folder = folder.filter(|folder| folder.join("usr/sbin/slurmctld-wlm").exists());
    if folder.is_none() {
        eprintln!("SKIPPED: DRIFTGRAPH_SLURM does not name a folder with Slurm's programs");
    }
    folder
}

/// A cluster of one node, on the loopback interface alone; it ends with this value.
struct Cluster {
    programs: PathBuf,
    folder: PathBuf,
    controller: Child,
    node: Child,
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn libraries(programs: &Path) -> PathBuf {
    let found = fs::read_dir(programs.join("usr/lib")).unwrap().map(|entry| entry.unwrap().path());
    let mut found = found.filter(|path| path.join("slurm-wlm").is_dir());
    found.next().expect("the packages have a folder of plugins")
}

fn configuration(programs: &Path, folder: &Path) -> String {
    let user = Command::new("id").arg("-un").output().unwrap().stdout;
    let user = String::from_utf8(user).unwrap();
    let (user, place, plugins) =
        (user.trim(), folder.display(), libraries(programs).join("slurm-wlm"));
    let mut text = String::new();
    let _ = write!(
        text,
        "ClusterName=test\nSlurmctldHost=localhost(127.0.0.1)\nSlurmUser={user}\nSlurmdUser={user}\n\
         AuthType=auth/none\nMinJobAge=86400\nCredType=cred/none\nProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\nSelectType=select/linear\nSchedulerType=sched/builtin\n\
         SlurmctldPort={}\nSlurmdPort={}\nSlurmctldPidFile={place}/slurmctld.pid\n\
         SlurmdPidFile={place}/slurmd.pid\nSlurmctldLogFile={place}/slurmctld.log\n\
         SlurmdLogFile={place}/slurmd.log\nStateSaveLocation={place}/state\nSlurmdSpoolDir={place}/spool\n\
         PluginDir={}\nMpiDefault=none\nReturnToService=2\nJobRequeue=1\nKillWait=10\n\
         AccountingStorageType=accounting_storage/none\nJobAcctGatherType=jobacct_gather/none\n\
         MailProg=/bin/true\nNodeName=localhost NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN\n\
         PartitionName=all Nodes=localhost Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:2\n",
        free_port(),
        free_port(),
        plugins.display()
    );
    text
}

impl Cluster {
    fn start(programs: &Path, folder: &Path) -> Self {
        for name in ["state", "spool"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        fs::write(folder.join("slurm.conf"), configuration(programs, folder)).unwrap();
        let controller = controller(programs, folder);
        let daemon = programs.join("usr/sbin/slurmd-wlm");
        let mut node = command(programs, folder, &daemon);
        node.args(["-D", "-N", "localhost", "-f"]).arg(folder.join("slurm.conf"));
        node.arg("-d").arg(programs.join("usr/sbin/slurmstepd-wlm"));
        let node = node.spawn().unwrap();
        let cluster =
            Self { programs: programs.to_owned(), folder: folder.to_owned(), controller, node };
        cluster.wait_until("sinfo", &["--noheader", "--format=%T"], |text| text.contains("idle"));
        cluster
    }

    /// What one of Slurm's programs says; empty where it cannot reach the controller.
    fn ask(&self, program: &str, arguments: &[&str]) -> String {
        let path = self.programs.join("usr/bin").join(program);
        let mut command = command(&self.programs, &self.folder, &path);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).args(arguments);
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn wait_until(&self, program: &str, arguments: &[&str], is_so: impl Fn(&str) -> bool) {
        let begin = Instant::now();
        loop {
            let text = self.ask(program, arguments);
            if is_so(&text) {
                return;
            }
            if begin.elapsed() > LONGEST {
                let log =
                    |name: &str| fs::read_to_string(self.folder.join(name)).unwrap_or_default();
                panic!("{program}: {text}\n{}\n{}", log("slurmctld.log"), log("slurmd.log"));
            }
            sleep(Duration::from_millis(200));
        }
    }

    /// Slurm writes what it knows of jobs seconds after it changed. A controller that comes back without
    /// knowing of a running task starts it again, which the node refuses and then waits for a person.
    fn wait_for_saved_jobs(&self, since: SystemTime) {
        let saved = || fs::metadata(self.folder.join("state/job_state"))?.modified();
        let begin = Instant::now();
        while !saved().is_ok_and(|saved| saved > since) {
            assert!(begin.elapsed() < LONGEST, "Slurm does not save its jobs");
            sleep(Duration::from_millis(20));
        }
    }

    /// As a crash would: no word to anybody, and back after a while.
    fn crash_controller(&mut self) {
        self.controller.kill().unwrap();
        self.controller.wait().unwrap();
        sleep(Duration::from_secs(1));
        self.controller = controller(&self.programs, &self.folder);
        self.wait_until("sinfo", &["--noheader", "--format=%T"], |text| !text.trim().is_empty());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.ask("scancel", &["--signal=KILL", "--full", "--name=driftgraph-sweep"]);
        for child in [&mut self.node, &mut self.controller] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn command(programs: &Path, folder: &Path, program: &Path) -> Command {
    let libraries = libraries(programs);
    let own = [libraries.join("slurm-wlm"), libraries];
    let mut command = Command::new(program);
    command.current_dir(folder).env("SLURM_CONF", folder.join("slurm.conf"));
    command.env("LD_LIBRARY_PATH", std::env::join_paths(own).unwrap());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn controller(programs: &Path, folder: &Path) -> Child {
    let mut command = command(programs, folder, &programs.join("usr/sbin/slurmctld-wlm"));
    command.arg("-D").arg("-f").arg(folder.join("slurm.conf")).spawn().unwrap()
}

#[test]
fn slurm_runs_the_printed_script_and_a_requeued_task_and_a_lost_controller_change_nothing() {
    let Some(programs) = unpacked() else { return };
    let sandbox: Sandbox = planned(PLAN);
    let script = sandbox.stdout("sweep slurm sweep --hours 4 --shard-seconds 900");
    // Six shards of a quarter of an hour: three tasks of half an hour.
    assert!(script.contains("#SBATCH --array=1-3\n"), "{script}");
    let folder = sandbox.path("slurm");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("sweep.sh"), script).unwrap();
    let mut cluster = Cluster::start(&programs, &folder);
    let job = cluster.ask("sbatch", &["--parsable", "sweep.sh"]);
    let job = job.trim().to_owned();
    let state = ["--noheader", "--array", "--format=%K %T"];
    cluster.wait_until("squeue", &state, |text| text.contains("1 RUNNING"));
    while fs::read_dir(sandbox.path("sweep/claims")).unwrap().count() == 0 {
        sleep(Duration::from_millis(20));
    }
    cluster.ask("scontrol", &["requeue", &format!("{job}_1")]);
    cluster.wait_until("scontrol", &["show", "job", &format!("{job}_1")], |text| {
        text.contains("Restarts=1")
    });
    // Slurm keeps what was requeued back for two minutes, unless told otherwise.
    let change = SystemTime::now();
    cluster.ask("scontrol", &["update", &format!("JobId={job}_1"), "StartTime=now"]);
    cluster.wait_for_saved_jobs(change);
    cluster.crash_controller();
    cluster.wait_until(
        "squeue",
        &["--noheader", "--name=driftgraph-sweep", "--states=all"],
        |text| {
            let ended = ["COMPLETED", " CD "];
            !text.trim().is_empty()
                && text.lines().all(|line| ended.iter().any(|end| line.contains(end)))
        },
    );
    assert_eq!(sandbox.json("sweep status sweep --json")["complete"], true);
    sandbox.stdout("sweep merge sweep --out merged");
    assert!(files(&sandbox.path("merged")) == serial(&sandbox));
}
