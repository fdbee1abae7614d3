#!/bin/sh
# Measures the references of our own machines again, and writes them and their pages (docs/crosscheck.md). Linux, root; from
# the project's folder, after `make build`. JOBS=4 for fewer links at once.
#
#   sh validation/renew.sh links       the kernel's TCP on real links, 120 cells in real time; iperf3
#   sh validation/renew.sh requests    requests after a pause, the same way
#   sh validation/renew.sh unseen      cells that no rule was found with, and short answers; 14 minutes
#   sh validation/renew.sh qdiscs      the kernel's own queue disciplines under QEMU
#   sh validation/renew.sh transport   the kernel's DCTCP under QEMU: 33 runs of half a minute
#   sh validation/renew.sh home        the tc lines of `earlydrop advise` in a kernel with every qdisc, under QEMU
#   sh validation/renew.sh netem       lines of tc and netem that mislead, under QEMU; 10 minutes
#
# Results are stored as they come: what is there already is not measured again.
set -eu
python=.venv/bin/python
stored=validation/reference/crosscheck
programs=validation/crosscheck
unseen="--cells unseen --realtime --page docs/lab-notes/crosscheck-unseen.md --jobs ${JOBS:-10}"

case ${1:-} in
links)
    $python $programs/compare_grid.py "" --realtime --jobs "${JOBS:-8}" \
        --write $stored/links.csv --page docs/lab-notes/crosscheck-cells.md
    ;;
requests)
    $python $programs/crosscheck_requests.py --realtime --jobs "${JOBS:-5}" \
        --write $stored/requests.csv --page docs/crosscheck.md
    ;;
unseen)
    # shellcheck disable=SC2086
    $python $programs/crosscheck_requests.py $unseen --write $stored/unseen_requests.csv
    # shellcheck disable=SC2086
    $python $programs/compare_grid.py "" $unseen --write $stored/unseen.csv
    ;;
qdiscs)
    $python validation/peers/qemu/kernel_qdiscs.py --page docs/lab-notes/kernel-qdiscs.md \
        --write validation/reference/kernel_qdiscs/figures.csv --spread validation/reference/kernel_qdiscs/runs.csv
    ;;
transport)
    $python validation/peers/qemu/kernel_transport.py --page docs/crosscheck.md --write $stored/transport.csv
    ;;
home)
    $python validation/peers/qemu/home_lines.py
    ;;
netem)
    $python validation/peers/qemu/netem_lines.py --write validation/reference/netem_lines/runs.csv
    ;;
*)
    sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
