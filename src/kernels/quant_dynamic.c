/* SPDX-License-Identifier: Apache-2.0
 *
 * NF4-DQ's absmax values to codes, a tensor at a time.
 */
#include "kernels/quant_dynamic.h"

#include "kernels/quant_dynamic_map.h"

const float ecoi_dynamic_values[DYNAMIC_CODES] = {DYNAMIC_VALUES};

uint32_t ecoi_dynamic_encode(float x) {
    uint32_t low = 0;
    uint32_t high = DYNAMIC_CODES - 1;
    while (high - low > 1) { /* value of low <= x, but for an x below all */
        const uint32_t middle = (low + high) / 2;
        if (ecoi_dynamic_values[middle] <= x) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return ecoi_dynamic_values[high] - x < x - ecoi_dynamic_values[low] ? high : low;
}

void ecoi_dynamic_quantize(const float *absmax, size_t n, uint8_t *codes, float *scales2,
                           float *offset) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)absmax[i];
    }
    *offset = (float)(sum / (double)n);
    for (size_t begin = 0; begin < n; begin += NF4_DQ_BLOCK) {
        const size_t end = begin + NF4_DQ_BLOCK < n ? begin + NF4_DQ_BLOCK : n;
        float largest = 0.0f;
        for (size_t i = begin; i < end; i++) {
            const float distance = quant_magnitude(absmax[i] - *offset);
            largest = distance > largest ? distance : largest;
        }
        scales2[begin / NF4_DQ_BLOCK] = largest;
        const float inverse = quant_inverse(largest);
        for (size_t i = begin; i < end; i++) {
            codes[i] = (uint8_t)ecoi_dynamic_encode((absmax[i] - *offset) * inverse);
        }
    }
}
