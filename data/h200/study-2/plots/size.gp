# Made by ecocompute. In this folder, gnuplot -d and this file make the picture again.
set encoding utf8
set terminal svg size 1000,580 font 'DejaVu Sans,14' noenhanced background rgb 'white'
set output 'size.svg'
set label 1 'Energy per token against model size' at screen 0.5,0.96 center noenhanced font ',17'
set label 2 'NVIDIA H200, engine native, weights synthetic, protocol paired, batch 1, 17 results; bars: 95 % interval of repetition' at screen 0.5,0.91 center noenhanced textcolor rgb '#444444'
set tmargin at screen 0.87
set xlabel 'parameters, billions (as the model is labelled)' noenhanced
set ylabel 'energy per token, mJ' noenhanced
set grid ytics lt 1 lc rgb '#dddddd' lw 1
set border 3
set tics nomirror
set key outside right top noenhanced
$p0 << EOD
1.1 402.658 402.429 402.888 
7 2440.485 2430.373 2450.638 
EOD
$m0 << EOD
1.1 402.658 
7 2440.485 
EOD
$p1 << EOD
1.1 280.514 280.211 280.818 
7 1554.259 1548.575 1559.964 
EOD
$m1 << EOD
1.1 280.514 
7 1554.259 
EOD
$p2 << EOD
1.1 283.462 282.455 284.472 
7 1542.79 1492.409 1594.872 
EOD
$m2 << EOD
1.1 283.462 
7 1542.79 
EOD
$p3 << EOD
1.1 248.215 247.277 249.156 
7 1321.886 1319.073 1324.705 
EOD
$m3 << EOD
1.1 248.215 
7 1321.886 
EOD
$p4 << EOD
1.1 240.413 239.58 241.248 
7 1249.277 1246.959 1251.6 
EOD
$m4 << EOD
1.1 240.413 
7 1249.277 
EOD
$p5 << EOD
1.1 272.236 271.686 272.786 
7 1542.002 1538.797 1545.213 
EOD
$m5 << EOD
1.1 272.236 
7 1542.002 
EOD
set logscale x
set xtics ('1.1' 1.1, '7' 7)
set xrange [0.9565217391304349:8.049999999999999]
set logscale y
set ytics (100, 200, 500, 1000, 2000, 5000)
set yrange [184.2923076923077:3185.8294]
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
