#!/bin/sh
# make-samples.sh - the small files that the README's commands read, made by assay itself.
# usage: make-samples.sh [DIR]   writes x.npy, w.safetensors, net.onnx, seq.npy, ts.npy and samples.csv there; needs assay on the PATH
set -eu
cd "${1:-.}"
assay export mlp:sizes=16x8x4 --onnx net.onnx                           # a network of 16 inputs and 4 outputs
assay export mlp:sizes=16x8x4 --seed 7 --safetensors w.safetensors      # other weights for it
assay run mlp:sizes=4x16 --batch 8 --output x.npy                       # f32[8,16]: eight inputs for it
assay run cfc:input=3,units=7 --batch 2 --seq 5 --output seq.npy        # f32[2,5,7]: two sequences of five steps
assay run softmax:size=2x5 --output ts.npy                              # f32[2,5]: how long each of those steps took
awk 'BEGIN { for (i = 0; i < 200; i++) printf "%.4f,%.4f,%.4f,%.4f\n", sin(i / 10), cos(i / 10), sin(i / 7), i % 50 / 50 }' >samples.csv
