# A Slurm of one node, with its controller; it ends with the job that reads this.
mkdir -p /run/munge /var/lib/munge /var/log/munge /etc/munge /etc/slurm /var/lib/slurm/ctld /var/spool/slurmd
dd if=/dev/urandom of=/etc/munge/munge.key bs=64 count=1 2> /dev/null
chmod 400 /etc/munge/munge.key
munged --force --key-file=/etc/munge/munge.key
# Where there is only a loopback, the C library finds no address for anybody, unless it has a second one.
python3 - <<END
import fcntl, socket, struct
address = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton("10.1.1.1"))
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
    fcntl.ioctl(handle, 0x8916, struct.pack("16s16s", b"lo:1", address))
END
# Nothing here uses cgroups; to find out which there are, Slurm would want systemd.
echo CgroupPlugin=cgroup/v1 > /etc/slurm/cgroup.conf
cat > /etc/slurm/slurm.conf <<END
ClusterName=guest
SlurmctldHost=guest(10.1.1.1)
SlurmUser=root
AuthType=auth/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
StateSaveLocation=/var/lib/slurm/ctld
SlurmdSpoolDir=/var/spool/slurmd
ReturnToService=2
NodeName=guest NodeAddr=10.1.1.1 CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=500
PartitionName=all Nodes=guest Default=YES MaxTime=INFINITE State=UP
END
slurmctld
slurmd
until_true sh -c 'sinfo -h -o %T | grep -qx idle'
