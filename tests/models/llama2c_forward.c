// Print the logits of a llama2.c checkpoint (legacy format) after each of the given tokens, a line for each.
// Usage: program model.bin TOKEN...

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *take(float **at, long n) {
    float *here = *at;
    *at += n;
    return here;
}

static void norm(float *out, const float *x, const float *gain, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)x[i] * x[i];
    float scale = 1 / sqrt(sum / n + 1e-5);
    for (int i = 0; i < n; i++) out[i] = gain[i] * x[i] * scale;
}

static void product(float *out, const float *w, const float *x, int rows, int columns) {
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int c = 0; c < columns; c++) sum += (double)w[(long)r * columns + c] * x[c];
        out[r] = sum;
    }
}

static void turn(float *v, int heads, int width, int position) {
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < width; i += 2) {
            float *pair = v + h * width + i, a = pair[0], b = pair[1];
            double angle = position * pow(10000, -(double)i / width);
            pair[0] = a * cos(angle) - b * sin(angle);
            pair[1] = a * sin(angle) + b * cos(angle);
        }
}

int main(int argc, char **argv) {
    FILE *file = fopen(argv[1], "rb");
    int head[7];
    if (!file || fread(head, sizeof head, 1, file) != 1) return 1;
    int d = head[0], m = head[1], layers = head[2], heads = head[3], groups = head[4], length = head[6];
    int vocabulary = abs(head[5]), width = d / heads, kv = groups * width;
    fseek(file, 0, SEEK_END);
    long n = (ftell(file) - (long)sizeof head) / (long)sizeof(float);
    float *all = malloc(n * sizeof *all), *at = all;
    fseek(file, sizeof head, SEEK_SET);
    if (fread(all, sizeof *all, n, file) != (size_t)n) return 1;
    float *embedding = take(&at, (long)vocabulary * d), *norm1 = take(&at, (long)layers * d);
    float *wq = take(&at, (long)layers * d * d), *wk = take(&at, (long)layers * kv * d);
    float *wv = take(&at, (long)layers * kv * d), *wo = take(&at, (long)layers * d * d);
    float *norm2 = take(&at, (long)layers * d), *w1 = take(&at, (long)layers * m * d);
    float *w2 = take(&at, (long)layers * d * m), *w3 = take(&at, (long)layers * m * d), *last = take(&at, d);
    take(&at, (long)length * width);  // the angles, as cosines and sines
    float *unembedding = head[5] > 0 ? embedding : take(&at, (long)vocabulary * d);
    if (at != all + n) return 2;

    float *x = malloc(d * sizeof(float)), *y = malloc(d * sizeof(float)), *q = malloc(d * sizeof(float));
    float *z = malloc(d * sizeof(float)), *up = malloc(m * sizeof(float)), *gate = malloc(m * sizeof(float));
    float *keys = calloc((long)layers * length * kv, sizeof(float)), *values = calloc((long)layers * length * kv, sizeof(float));
    float *score = malloc(length * sizeof(float)), *logits = malloc(vocabulary * sizeof(float));
    for (int p = 0; p + 2 < argc; p++) {
        memcpy(x, embedding + (long)atoi(argv[p + 2]) * d, d * sizeof(float));
        for (int l = 0; l < layers; l++) {
            float *k = keys + ((long)l * length + p) * kv, *v = values + ((long)l * length + p) * kv;
            norm(y, x, norm1 + l * d, d);
            product(q, wq + (long)l * d * d, y, d, d);
            product(k, wk + (long)l * kv * d, y, kv, d);
            product(v, wv + (long)l * kv * d, y, kv, d);
            turn(q, heads, width, p);
            turn(k, groups, width, p);
            for (int h = 0; h < heads; h++) {
                int shared = h / (heads / groups) * width;
                float most = -INFINITY, sum = 0;
                for (int t = 0; t <= p; t++) {
                    float *key = keys + ((long)l * length + t) * kv + shared, dot = 0;
                    for (int i = 0; i < width; i++) dot += q[h * width + i] * key[i];
                    score[t] = dot / sqrtf(width);
                    most = fmaxf(most, score[t]);
                }
                for (int t = 0; t <= p; t++) sum += score[t] = expf(score[t] - most);
                for (int i = 0; i < width; i++) {
                    double mean = 0;
                    for (int t = 0; t <= p; t++) mean += score[t] / sum * values[((long)l * length + t) * kv + shared + i];
                    z[h * width + i] = mean;
                }
            }
            product(y, wo + (long)l * d * d, z, d, d);
            for (int i = 0; i < d; i++) x[i] += y[i];
            norm(y, x, norm2 + l * d, d);
            product(gate, w1 + (long)l * m * d, y, m, d);
            product(up, w3 + (long)l * m * d, y, m, d);
            for (int i = 0; i < m; i++) up[i] *= gate[i] / (1 + expf(-gate[i]));
            product(y, w2 + (long)l * d * m, up, d, m);
            for (int i = 0; i < d; i++) x[i] += y[i];
        }
        norm(y, x, last, d);
        product(logits, unembedding, y, vocabulary, d);
        for (int i = 0; i < vocabulary; i++) printf("%.9g ", logits[i]);
        printf("\n");
    }
    return 0;
}
