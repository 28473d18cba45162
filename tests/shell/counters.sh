#!/bin/sh
# `make check-counters`: tools/gpu_counters.py with a stand-in for Nsight Compute, whose report is a table written here.
python=$1
tool=$PWD/tools/gpu_counters.py
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
. "$PWD/tests/shell/says.sh"
cd "$place" || exit 2

# Two launches, with the columns that the tool reads and one that it does not.
stalled=smsp__average_warps_issue_stalled
cat > table.csv << END
==PROF== a line that is none of the table
"ID","Kernel Name","gpu__time_duration.sum","sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed","gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","lts__throughput.avg.pct_of_peak_sustained_elapsed","lts__t_sector_hit_rate.pct","smsp__issue_active.avg.pct_of_peak_sustained_active","sm__warps_active.avg.per_cycle_active","dram__bytes_read.sum","dram__bytes_write.sum","${stalled}_barrier_per_issue_active.ratio","${stalled}_long_scoreboard_per_issue_active.ratio","${stalled}_selected_per_issue_active.ratio","${stalled}_wait_per_issue_active.ratio","other"
"","","us","%","%","%","%","%","warp","Mbyte","Kbyte","inst","inst","inst","inst",""
"0","product(float *)","1,024.5","66.883236","6.086452","41.052245","91.76","52.9","9.06","201.6","512","2","6","1","1","x"
"1","sum","3.25","0","81.5","83.25","14","12","5.1","1.5","0","0.01","0.5","0.4","0.09","x"
END
mkdir bin
cat > bin/ncu << 'END'
#!/bin/sh
# --import prints the table; else the report is made, from the command's words, as the real one would.
case " $* " in *" --import "*) cat table.csv; exit;; esac
printf '%s\n' "$*" > called
[ -n "$NCU_FAILS" ] && { echo "==ERROR== The user does not have permission"; exit 1; }
while [ "$1" != --export ]; do shift; done
: > "$2.ncu-rep"
END
chmod +x bin/ncu

with_ncu() { env PATH="$PWD/bin:$PATH" "$@"; }
run 0 with_ncu "$python" "$tool" --kernel '^prod' --skip 2 --launches 2 --csv kept.csv -- program --option
says "product                                  1024.5     67      6     41     92     53    9.1     201.6       0.5  long scoreboard 60 %, barrier 20 %, wait 10 %"
says "sum                                         3.2      0     82     83     14     12    5.1       1.5       0.0  long scoreboard 50 %, wait 9 %"
silent "selected"
silent "barrier 1 %"
cp called out
says "--launch-skip 2 --launch-count 2 --kernel-name regex:^prod program --option"
says "--clock-control none"
run 0 cmp table.csv kept.csv
run 0 "$python" "$tool" --read kept.csv
says "kept"
run 1 with_ncu NCU_FAILS=1 "$python" "$tool" -- program
says "gpu_counters: no counters (ncu's exit code is 1): ==ERROR== The user does not have permission"
run 1 env PATH=/nonexistent "$("$python" -c 'import sys; print(sys.executable)')" "$tool" -- program
says "no ncu on PATH"
run 2 "$python" "$tool"
says "wanted: either a command, behind --, or --read"
echo text > kept.csv
run 1 "$python" "$tool" --read kept.csv
says "no table"
head -3 table.csv > kept.csv
mv kept.csv table.csv
run 1 with_ncu "$python" "$tool" -- program
says "the command launched no such kernel"

echo "counters: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
