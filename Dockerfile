# The dashboard in a container: `docker build -t obmc .`, then `docker run --read-only --tmpfs /tmp -v obmc:/results -p
# 8501:8501 obmc`. Settings: docs/deployment.md.
FROM python:3.11-slim-bookworm

# One BLAS thread: the worker processes are the parallel part. Results and downloaded data go to the volume.
ENV PYTHONUNBUFFERED=1 \
    OPENBLAS_NUM_THREADS=1 \
    OMP_NUM_THREADS=1 \
    MKL_NUM_THREADS=1 \
    OBMC_RESULTS=/results/results.sqlite3 \
    OBMC_DATA_HOME=/results/data \
    HOME=/tmp

WORKDIR /app
COPY requirements.txt requirements-dev.txt pyproject.toml README.md LICENSE ./
RUN python -m pip install --no-cache-dir --disable-pip-version-check -r requirements.txt
COPY app.py ./
COPY .streamlit .streamlit
COPY data data
COPY pages pages
COPY obmc obmc
# With Dask, in the version that is tested, so that the same image is a dashboard, a scheduler or a worker.
RUN python -m pip install --no-cache-dir --disable-pip-version-check --constraint requirements-dev.txt --editable ".[dask]"
# The root file system is read-only when it runs.
RUN python -m compileall -q app.py obmc pages
RUN install -d -o 10001 -g 10001 /results

USER 10001:10001
VOLUME /results
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 CMD python -c "from urllib.request import urlopen; urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"
CMD ["python", "-m", "streamlit", "run", "app.py", "--server.address=0.0.0.0", "--server.port=8501", "--server.headless=true"]
