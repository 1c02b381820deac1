# Made by ecocompute. In this folder, gnuplot -d and this file make the picture again.
set encoding utf8
set terminal svg size 1000,580 font 'DejaVu Sans,14' noenhanced background rgb 'white'
set output 'crossover.svg'
set label 1 'Change of energy per token against FP16' at screen 0.5,0.96 center noenhanced font ',17'
set label 2 'NVIDIA H200, 2 cards, engine native, weights synthetic, protocol paired, batch 1, 20 results; bars: 95 % interval of repetition' at screen 0.5,0.91 center noenhanced textcolor rgb '#444444'
set tmargin at screen 0.87
set xlabel 'parameters, billions (as the model is labelled)' noenhanced
set ylabel 'change, % (below 0 the format saves)' noenhanced
set grid ytics lt 1 lc rgb '#dddddd' lw 1
set border 3
set tics nomirror
set key outside right top noenhanced
$p0 << EOD
0.5 -30.658 -32.007 -29.282 
1.1 -47.798 -47.938 -47.658 
1.5 -43.676 -43.955 -43.395 
3 -48.912 -49.465 -48.353 
7 -51.75 -51.95 -51.549 
9 -53.165 -53.325 -53.004 
14 -53.757 -54.275 -53.232 
EOD
$m0 << EOD
0.5 -30.658 
1.1 -47.798 
1.5 -43.676 
3 -48.912 
7 -51.75 
9 -53.165 
14 -53.757 
EOD
$p1 << EOD
0.5 -29.485 -29.858 -29.11 
1.1 -48.983 -49.088 -48.878 
7 -54.645 -54.904 -54.386 
EOD
$m1 << EOD
0.5 -29.485 
1.1 -48.983 
7 -54.645 
EOD
$p2 << EOD
0.5 -21.699 -23.399 -19.961 
1.1 -34.116 -34.262 -33.97 
1.5 -29.564 -29.9 -29.227 
3 -34.668 -34.726 -34.61 
7 -39.775 -40.166 -39.382 
9 -40.646 -40.873 -40.417 
14 -41.22 -41.401 -41.039 
EOD
$m2 << EOD
0.5 -21.699 
1.1 -34.116 
1.5 -29.564 
3 -34.668 
7 -39.775 
9 -40.646 
14 -41.22 
EOD
$p3 << EOD
1.1 -34.671 -34.821 -34.521 
EOD
$m3 << EOD
1.1 -34.671 
EOD
$p4 << EOD
1.1 -30.384 -30.5 -30.267 
EOD
$m4 << EOD
1.1 -30.384 
EOD
$p5 << EOD
1.1 -42.1 -42.235 -41.966 
EOD
$m5 << EOD
1.1 -42.1 
EOD
set logscale x
set xtics ('0.5' 0.5, '1.1' 1.1, '1.5' 1.5, '3' 3, '7' 7, '9' 9, '14' 14)
set xrange [0.4347826086956522:16.099999999999998]
set offsets 0,0,graph 0.06,graph 0.06
set bars 1.5
plot 0 with lines lw 1.5 lc rgb '#888888' notitle, \
  $p0 using 1:2:3:4 with yerrorbars pt 4 ps 0.9 lw 1.5 lc rgb '#009E73' title 'NF4', \
  $m0 using 1:2 with lines lw 1 lc rgb '#009E73' notitle, \
  $p1 using 1:2:3:4 with yerrorbars pt 5 ps 0.9 lw 1.5 lc rgb '#333333' title 'Q4_0', \
  $m1 using 1:2 with lines lw 1 lc rgb '#333333' notitle, \
  $p2 using 1:2:3:4 with yerrorbars pt 6 ps 0.9 lw 1.5 lc rgb '#56B4E9' title 'W8A16', \
  $m2 using 1:2 with lines lw 1 lc rgb '#56B4E9' notitle, \
  $p3 using 1:2:3:4 with yerrorbars pt 7 ps 0.9 lw 1.5 lc rgb '#6A51A3' title 'FP8', \
  $m3 using 1:2 with lines lw 1 lc rgb '#6A51A3' notitle, \
  $p4 using 1:2:3:4 with yerrorbars pt 8 ps 0.9 lw 1.5 lc rgb '#E69F00' title 'INT8', \
  $m4 using 1:2 with lines lw 1 lc rgb '#E69F00' notitle, \
  $p5 using 1:2:3:4 with yerrorbars pt 9 ps 0.9 lw 1.5 lc rgb '#CC79A7' title 'NF4-DQ', \
  $m5 using 1:2 with lines lw 1 lc rgb '#CC79A7' notitle
