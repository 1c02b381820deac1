# Made by ecocompute. In this folder, gnuplot -d and this file make the picture again.
set encoding utf8
set terminal svg size 1140,640 font 'DejaVu Sans,14' noenhanced background rgb 'white'
set output 'roofline.svg'
set label 1 'Distance from the memory roofline' at screen 0.5,0.96 center noenhanced font ',17'
set label 2 'NVIDIA H200, engine native, weights synthetic, protocol paired, 17 results; whiskers: smallest and largest of several runs' at screen 0.5,0.91 center noenhanced textcolor rgb '#444444'
set tmargin at screen 0.87
set xlabel '' noenhanced
set ylabel 'share of the probed read bandwidth, %' noenhanced
set grid ytics lt 1 lc rgb '#dddddd' lw 1
set border 3
set tics nomirror
set key outside right top noenhanced
$p0 << EOD
0 62.870000000000005 62.870000000000005 62.870000000000005 
6 82.84 82.84 82.84 
12 45.12 45.12 45.12 
EOD
$p1 << EOD
1 42.24 42.24 42.24 
7 70.96000000000001 70.96000000000001 70.96000000000001 
EOD
$p2 << EOD
2 39.86 39.86 39.86 
8 66.17 66.17 66.17 
EOD
$p3 << EOD
3 25.8 25.8 25.8 
9 48 48 48 
13 13.19 13.19 13.19 
EOD
$p4 << EOD
4 27.32 27.32 27.32 
10 55.15 55.15 55.15 
EOD
$p5 << EOD
5 45.68 45.68 45.68 
11 72.71 72.71 72.71 
14 29.38 29.38 29.38 
EOD
set lmargin at screen 0.13
set xtics rotate by 45 right ('TinyLlama-1.1B FP16, batch 1' 0, 'TinyLlama-1.1B FP8, batch 1' 1, 'TinyLlama-1.1B INT8, batch 1' 2, 'TinyLlama-1.1B NF4, batch 1' 3, 'TinyLlama-1.1B Q4_0, batch 1' 4, 'TinyLlama-1.1B W8A16, batch 1' 5, 'Qwen2-7B FP16, batch 1' 6, 'Qwen2-7B FP8, batch 1' 7, 'Qwen2-7B INT8, batch 1' 8, 'Qwen2-7B NF4, batch 1' 9, 'Qwen2-7B Q4_0, batch 1' 10, 'Qwen2-7B W8A16, batch 1' 11, 'Qwen2-7B FP16, batch 64' 12, 'Qwen2-7B NF4, batch 64' 13, 'Qwen2-7B W8A16, batch 64' 14) noenhanced
set xrange [-0.7:14.7]
set yrange [0:100]
set boxwidth 0.75
set style fill solid 0.85 noborder
set bars 1.5
plot $p0 using 1:2 with boxes fc rgb '#0072B2' title 'FP16', \
  $p0 using 1:2:3:4 with yerrorbars pt -1 lw 1.2 lc rgb '#222222' notitle, \
  $p0 using 1:4:(sprintf('%.0f', $2)) with labels offset 0,0.6 notitle, \
  $p1 using 1:2 with boxes fc rgb '#6A51A3' title 'FP8', \
  $p1 using 1:2:3:4 with yerrorbars pt -1 lw 1.2 lc rgb '#222222' notitle, \
  $p1 using 1:4:(sprintf('%.0f', $2)) with labels offset 0,0.6 notitle, \
  $p2 using 1:2 with boxes fc rgb '#E69F00' title 'INT8', \
  $p2 using 1:2:3:4 with yerrorbars pt -1 lw 1.2 lc rgb '#222222' notitle, \
  $p2 using 1:4:(sprintf('%.0f', $2)) with labels offset 0,0.6 notitle, \
  $p3 using 1:2 with boxes fc rgb '#009E73' title 'NF4', \
  $p3 using 1:2:3:4 with yerrorbars pt -1 lw 1.2 lc rgb '#222222' notitle, \
  $p3 using 1:4:(sprintf('%.0f', $2)) with labels offset 0,0.6 notitle, \
  $p4 using 1:2 with boxes fc rgb '#333333' title 'Q4_0', \
  $p4 using 1:2:3:4 with yerrorbars pt -1 lw 1.2 lc rgb '#222222' notitle, \
  $p4 using 1:4:(sprintf('%.0f', $2)) with labels offset 0,0.6 notitle, \
  $p5 using 1:2 with boxes fc rgb '#56B4E9' title 'W8A16', \
  $p5 using 1:2:3:4 with yerrorbars pt -1 lw 1.2 lc rgb '#222222' notitle, \
  $p5 using 1:4:(sprintf('%.0f', $2)) with labels offset 0,0.6 notitle
