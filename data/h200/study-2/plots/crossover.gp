# Made by ecocompute. In this folder, gnuplot -d and this file make the picture again.
set encoding utf8
set terminal svg size 1000,580 font 'DejaVu Sans,14' noenhanced background rgb 'white'
set output 'crossover.svg'
set label 1 'Change of energy per token against FP16' at screen 0.5,0.96 center noenhanced font ',17'
set label 2 'NVIDIA H200, engine native, weights synthetic, protocol paired, batch 1, 17 results; bars: 95 % interval of repetition' at screen 0.5,0.91 center noenhanced textcolor rgb '#444444'
set tmargin at screen 0.87
set xlabel 'parameters, billions (as the model is labelled)' noenhanced
set ylabel 'change, % (below 0 the format saves)' noenhanced
set grid ytics lt 1 lc rgb '#dddddd' lw 1
set border 3
set tics nomirror
set key outside right top noenhanced
$p0 << EOD
1.1 -30.334 -30.384 -30.285 
7 -36.314 -36.681 -35.944 
EOD
$m0 << EOD
1.1 -30.334 
7 -36.314 
EOD
$p1 << EOD
1.1 -29.602 -29.89 -29.314 
7 -36.783 -38.776 -34.726 
EOD
$m1 << EOD
1.1 -29.602 
7 -36.783 
EOD
$p2 << EOD
1.1 -38.356 -38.579 -38.133 
7 -45.835 -46.055 -45.614 
EOD
$m2 << EOD
1.1 -38.356 
7 -45.835 
EOD
$p3 << EOD
1.1 -40.294 -40.468 -40.118 
7 -48.81 -49.084 -48.535 
EOD
$m3 << EOD
1.1 -40.294 
7 -48.81 
EOD
$p4 << EOD
1.1 -32.39 -32.499 -32.281 
7 -36.816 -37.047 -36.584 
EOD
$m4 << EOD
1.1 -32.39 
7 -36.816 
EOD
set logscale x
set xtics ('1.1' 1.1, '7' 7)
set xrange [0.9565217391304349:8.049999999999999]
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
