# Made by ecocompute. In this folder, gnuplot -d and this file make the picture again.
set encoding utf8
set terminal svg size 1000,580 font 'DejaVu Sans,14' noenhanced background rgb 'white'
set output 'size.svg'
set label 1 'Energy per token against model size' at screen 0.5,0.96 center noenhanced font ',17'
set label 2 'NVIDIA H200, engine native, weights synthetic, protocol paired, batch 1, 19 results; bars: 95 % interval of repetition' at screen 0.5,0.91 center noenhanced textcolor rgb '#444444'
set tmargin at screen 0.87
set xlabel 'parameters, billions (as the model is labelled)' noenhanced
set ylabel 'energy per token, mJ' noenhanced
set grid ytics lt 1 lc rgb '#dddddd' lw 1
set border 3
set tics nomirror
set key outside right top noenhanced
$p0 << EOD
0.5 244.83 244.517 245.143 
1.1 426.566 424.635 428.505 
7 2462.626 2451.643 2473.657 
EOD
$m0 << EOD
0.5 244.83 
1.1 426.566 
7 2462.626 
EOD
$p1 << EOD
0.5 211.034 210.331 211.74 
1.1 303.014 301.716 304.318 
7 1618.954 1613.093 1624.836 
EOD
$m1 << EOD
0.5 211.034 
1.1 303.014 
7 1618.954 
EOD
$p2 << EOD
0.5 228.166 227.465 228.87 
1.1 315.912 314.319 317.512 
7 1598.528 1593.798 1603.272 
EOD
$m2 << EOD
0.5 228.166 
1.1 315.912 
7 1598.528 
EOD
$p3 << EOD
0.5 197.272 197.025 197.519 
1.1 254.934 254.466 255.404 
7 1287.303 1284.246 1290.367 
EOD
$m3 << EOD
0.5 197.272 
1.1 254.934 
7 1287.303 
EOD
$p4 << EOD
0.5 201.31 200.732 201.889 
1.1 262.098 261.408 262.79 
7 1319.878 1319.07 1320.686 
EOD
$m4 << EOD
0.5 201.31 
1.1 262.098 
7 1319.878 
EOD
$p5 << EOD
0.5 208.178 207.945 208.41 
1.1 300.895 300.154 301.637 
7 1613.447 1610.801 1616.096 
EOD
$m5 << EOD
0.5 208.178 
1.1 300.895 
7 1613.447 
EOD
set logscale x
set xtics ('0.5' 0.5, '1.1' 1.1, '7' 7)
set xrange [0.4347826086956522:8.049999999999999]
set logscale y
set ytics (100, 200, 500, 1000, 2000, 5000)
set yrange [151.55769230769232:3215.7541]
set bars 1.5
plot $p0 using 1:2:3:4 with yerrorbars pt 4 ps 0.9 lw 1.5 lc rgb '#0072B2' title 'FP16', \
  $m0 using 1:2 with lines lw 1 lc rgb '#0072B2' notitle, \
  $p1 using 1:2:3:4 with yerrorbars pt 5 ps 0.9 lw 1.5 lc rgb '#6A51A3' title 'FP8', \
  $m1 using 1:2 with lines lw 1 lc rgb '#6A51A3' notitle, \
  $p2 using 1:2:3:4 with yerrorbars pt 6 ps 0.9 lw 1.5 lc rgb '#E69F00' title 'INT8', \
  $m2 using 1:2 with lines lw 1 lc rgb '#E69F00' notitle, \
  $p3 using 1:2:3:4 with yerrorbars pt 7 ps 0.9 lw 1.5 lc rgb '#009E73' title 'NF4', \
  $m3 using 1:2 with lines lw 1 lc rgb '#009E73' notitle, \
  $p4 using 1:2:3:4 with yerrorbars pt 8 ps 0.9 lw 1.5 lc rgb '#333333' title 'Q4_0', \
  $m4 using 1:2 with lines lw 1 lc rgb '#333333' notitle, \
  $p5 using 1:2:3:4 with yerrorbars pt 9 ps 0.9 lw 1.5 lc rgb '#56B4E9' title 'W8A16', \
  $m5 using 1:2 with lines lw 1 lc rgb '#56B4E9' notitle
