# Made by ecocompute. In this folder, gnuplot -d and this file make the picture again.
set encoding utf8
set terminal svg size 1000,580 font 'DejaVu Sans,14' noenhanced background rgb 'white'
set output 'crossover.svg'
set label 1 'Change of energy per token against FP16' at screen 0.5,0.96 center noenhanced font ',17'
set label 2 'NVIDIA H200, engine native, weights synthetic, protocol paired, batch 1, 19 results; bars: 95 % interval of repetition' at screen 0.5,0.91 center noenhanced textcolor rgb '#444444'
set tmargin at screen 0.87
set xlabel 'parameters, billions (as the model is labelled)' noenhanced
set ylabel 'change, % (below 0 the format saves)' noenhanced
set grid ytics lt 1 lc rgb '#dddddd' lw 1
set border 3
set tics nomirror
set key outside right top noenhanced
$p0 << EOD
0.5 -13.804 -14.192 -13.414 
1.1 -28.964 -29.014 -28.914 
7 -34.259 -34.537 -33.98 
EOD
$m0 << EOD
0.5 -13.804 
1.1 -28.964 
7 -34.259 
EOD
$p1 << EOD
0.5 -6.806 -7.185 -6.426 
1.1 -25.941 -26.261 -25.619 
7 -35.088 -35.565 -34.609 
EOD
$m1 << EOD
0.5 -6.806 
1.1 -25.941 
7 -35.088 
EOD
$p2 << EOD
0.5 -19.425 -19.626 -19.223 
1.1 -40.236 -40.608 -39.861 
7 -47.726 -47.998 -47.454 
EOD
$m2 << EOD
0.5 -19.425 
1.1 -40.236 
7 -47.726 
EOD
$p3 << EOD
0.5 -17.776 -18.089 -17.462 
1.1 -38.556 -38.907 -38.203 
7 -46.404 -46.669 -46.137 
EOD
$m3 << EOD
0.5 -17.776 
1.1 -38.556 
7 -46.404 
EOD
$p4 << EOD
0.5 -14.97 -15.169 -14.771 
1.1 -29.461 -29.811 -29.109 
7 -34.483 -34.852 -34.111 
EOD
$m4 << EOD
0.5 -14.97 
1.1 -29.461 
7 -34.483 
EOD
set logscale x
set xtics ('0.5' 0.5, '1.1' 1.1, '7' 7)
set xrange [0.4347826086956522:8.049999999999999]
set offsets 0,0,graph 0.06,graph 0.06
set bars 1.5
plot 0 with lines lw 1.5 lc rgb '#888888' notitle, \
  $p0 using 1:2:3:4 with yerrorbars pt 4 ps 0.9 lw 1.5 lc rgb '#6A51A3' title 'FP8', \
  $m0 using 1:2 with lines lw 1 lc rgb '#6A51A3' notitle, \
  $p1 using 1:2:3:4 with yerrorbars pt 5 ps 0.9 lw 1.5 lc rgb '#E69F00' title 'INT8', \
  $m1 using 1:2 with lines lw 1 lc rgb '#E69F00' notitle, \
  $p2 using 1:2:3:4 with yerrorbars pt 6 ps 0.9 lw 1.5 lc rgb '#009E73' title 'NF4', \
  $m2 using 1:2 with lines lw 1 lc rgb '#009E73' notitle, \
  $p3 using 1:2:3:4 with yerrorbars pt 7 ps 0.9 lw 1.5 lc rgb '#333333' title 'Q4_0', \
  $m3 using 1:2 with lines lw 1 lc rgb '#333333' notitle, \
  $p4 using 1:2:3:4 with yerrorbars pt 8 ps 0.9 lw 1.5 lc rgb '#56B4E9' title 'W8A16', \
  $m4 using 1:2 with lines lw 1 lc rgb '#56B4E9' notitle
