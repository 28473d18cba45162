// Code that is the driver's affair, in the same program as app.cu.
__global__ void twice(float *x, int n)
{
    int i = int(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        x[i] *= 2;
}

void launch_twice(float *x, int n);
void launch_twice(float *x, int n)
{
    twice<<<(n + 127) / 128, 128>>>(x, n);
}
