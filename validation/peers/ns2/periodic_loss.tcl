# One TCP over a path that loses every so many-th packet, for ns-2 2.35:
#
#     ns periodic_loss.tcl PERIOD [SECONDS]
#
# Prints segments sent in a round trip of 0.1 s, to compare with the square-root
# law: crates/net/tests/laws.rs.

foreach {period seconds} [concat $argv 2000] break
set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right 10000Mb 50ms DropTail
$ns queue-limit $left $right 100000

set losses [new ErrorModel/List]
set which {}
for {set i $period} {$i < 4000000} {incr i $period} { lappend which $i }
$losses droplist $which
$losses drop-target [new Agent/Null]
$ns lossmodel $losses $left $right

set tcp [new Agent/TCP/Reno]
set sink [new Agent/TCPSink]
$tcp set window_ 100000
$tcp set packetSize_ 960
$ns attach-agent $left $tcp
$ns attach-agent $right $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$tcp set ssthresh_ 64
$ns at 0 "$ftp start"
proc finish {} {
    global tcp seconds
    set sent [expr {[$tcp set maxseq_] + [$tcp set nrexmitpack_]}]
    puts [expr {0.1 * $sent / $seconds}]
    exit 0
}
$ns at $seconds finish
$ns run
