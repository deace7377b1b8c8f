/**
 * Becomes a program that finds what one finds in an older container: no capabilities, and a profile that refuses Landlock,
 * namespaces, mounts and rare parts of the kernel. `node in-container.ts <program> [argument…]`
 */
import { EPERM } from '../../../src/confinement/judged-calls.ts';
import { ALLOW, refuseWith, writeFilter } from '../../../src/confinement/bpf.ts';
import { openKernel } from '../../../src/confinement/kernel-calls.js';
import { systemCalls } from '../../../src/confinement/system-calls.ts';
import { koffiPath } from './koffi.ts';

const STANDARD = 3;
const REFUSED =
  'landlock_create_ruleset landlock_add_rule landlock_restrict_self unshare setns mount umount2 pivot_root chroot ' +
  'open_tree move_mount fsopen fsmount fspick mount_setattr bpf perf_event_open userfaultfd io_uring_setup keyctl ' +
  'add_key request_key kexec_load kexec_file_load init_module finit_module delete_module reboot swapon swapoff ' +
  'clock_settime settimeofday open_by_handle_at name_to_handle_at quotactl acct iopl ioperm syslog kcmp ' +
  'process_vm_readv process_vm_writev';

const numbers = systemCalls(process.arch);
if (numbers === undefined) throw new Error(`no profile for ${process.arch}`);
const rules = REFUSED.split(' ').flatMap((name) => {
  const call = numbers.get(name);
  return call === undefined ? [] : [{ call, when: [], action: refuseWith(EPERM) }];
});
const filter = writeFilter({
  arch: process.arch,
  rules,
  otherwise: ALLOW,
  unknown: { from: 0x10000, action: ALLOW },
});
const [program = '', ...args] = process.argv.slice(2);
const env = Object.entries(process.env).map(([name, value]) => `${name}=${value ?? ''}`);
const kernel = openKernel(koffiPath);
kernel.boundCapabilities(0n);
kernel.setCapabilities({ effective: 0n, permitted: 0n });
kernel.gainNothing();
kernel.passOn(STANDARD);
kernel.filterCalls(filter, {});
kernel.become(program, args, env, [0, 0, 0]);
