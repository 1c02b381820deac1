# Made by ecocompute. In this folder, gnuplot -d and this file make the picture again.
set encoding utf8
set terminal svg size 1536,640 font 'DejaVu Sans,14' noenhanced background rgb 'white'
set output 'roofline.svg'
set label 1 'Distance from the memory roofline' at screen 0.5,0.96 center noenhanced font ',17'
set label 2 'NVIDIA H200, engine native, weights synthetic, protocol paired, 19 results; whiskers: smallest and largest of several runs' at screen 0.5,0.91 center noenhanced textcolor rgb '#444444'
set tmargin at screen 0.87
set xlabel '' noenhanced
set ylabel 'share of the probed read bandwidth, %' noenhanced
set grid ytics lt 1 lc rgb '#dddddd' lw 1
set border 3
set tics nomirror
set key outside right top noenhanced
$p0 << EOD
0 35.45 35.449999999999996 35.449999999999996 
6 53.56999999999999 53.56999999999999 53.56999999999999 
12 14.84 14.84 14.84 
15 80.86 80.86 80.86 
21 31.15 31.15 31.15 
EOD
$p1 << EOD
1 22.79 22.79 22.79 
7 36.34 36.34 36.34 
16 67.82000000000001 67.82000000000001 67.82000000000001 
EOD
$p2 << EOD
2 19.75 19.75 19.75 
8 32.14 32.14 32.14 
17 61.6 61.6 61.6 
EOD
$p3 << EOD
3 17.299999999999997 17.299999999999997 17.299999999999997 
9 23.5 23.5 23.5 
13 7.07 7.07 7.07 
18 51.370000000000005 51.370000000000005 51.370000000000005 
22 12.620000000000001 12.620000000000001 12.620000000000001 
EOD
$p4 << EOD
4 16.68 16.68 16.68 
10 22.720000000000002 22.720000000000002 22.720000000000002 
19 49.01 49.01 49.01 
EOD
$p5 << EOD
5 23.3 23.3 23.3 
11 37.04 37.04 37.04 
14 10.71 10.71 10.71 
20 69.16 69.16 69.16 
23 23.189999999999998 23.189999999999998 23.189999999999998 
EOD
set lmargin at screen 0.13
set xtics rotate by 45 right ('Qwen2-0.5B FP16, batch 1' 0, 'Qwen2-0.5B FP8, batch 1' 1, 'Qwen2-0.5B INT8, batch 1' 2, 'Qwen2-0.5B NF4, batch 1' 3, 'Qwen2-0.5B Q4_0, batch 1' 4, 'Qwen2-0.5B W8A16, batch 1' 5, 'TinyLlama-1.1B FP16, batch 1' 6, 'TinyLlama-1.1B FP8, batch 1' 7, 'TinyLlama-1.1B INT8, batch 1' 8, 'TinyLlama-1.1B NF4, batch 1' 9, 'TinyLlama-1.1B Q4_0, batch 1' 10, 'TinyLlama-1.1B W8A16, batch 1' 11, 'TinyLlama-1.1B FP16, batch 64' 12, 'TinyLlama-1.1B NF4, batch 64' 13, 'TinyLlama-1.1B W8A16, batch 64' 14, 'Qwen2-7B FP16, batch 1' 15, 'Qwen2-7B FP8, batch 1' 16, 'Qwen2-7B INT8, batch 1' 17, 'Qwen2-7B NF4, batch 1' 18, 'Qwen2-7B Q4_0, batch 1' 19, 'Qwen2-7B W8A16, batch 1' 20, 'Qwen2-7B FP16, batch 64' 21, 'Qwen2-7B NF4, batch 64' 22, 'Qwen2-7B W8A16, batch 64' 23) noenhanced
set xrange [-0.7:23.7]
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
