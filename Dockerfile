# docker build -t evm-relayer-service .
# docker run -p 8080:8080 -v relayer-data:/data -v ./secrets:/run/secrets:ro -e API_KEY_FILE=/run/secrets/api-key \
#   -e MASTER_KEY_FILE=/run/secrets/master-key --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
#   --memory 1g evm-relayer-service
# The files must be readable by the image's user, 1000. In production, write the digests of the images below (node:26@sha256:...).

FROM node:26 AS reference
WORKDIR /service
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY openapi.yaml redocly.yaml tsconfig.json ./
COPY generated generated
COPY client client
RUN npm run docs && npm run build:console

# The full image has compilers: where secp256k1 brings no binary (arm64), its install script makes one.
FROM node:26 AS dependencies
WORKDIR /service
COPY package.json package-lock.json .npmrc ./
# Without the optional packages of key services. With them: docker build --build-arg OMIT=dev .
ARG OMIT=optional
RUN npm ci --omit=dev --omit=$OMIT --ignore-scripts && npm rebuild secp256k1

FROM node:26-slim
# In production the service starts only with API_KEY and MASTER_KEY.
# Each thread would take memory of its own from malloc, and keep it: 12 MB after a load.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data MALLOC_ARENA_MAX=2
WORKDIR /service
COPY --from=dependencies /service/node_modules node_modules
COPY package.json LICENSE openapi.yaml ./
COPY generated generated
COPY server server
COPY --from=reference /service/generated/reference.html generated/
COPY --from=reference /service/generated/console generated/console
# What a start compiles is kept for the next one of the same container.
RUN install --directory --owner=node --group=node --mode=700 /data node_modules/.cache
USER node
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/api/v1/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Node itself is the first process, so that SIGTERM reaches it.
CMD ["node", "--require", "./server/compile-cache.cjs", "--expose-gc", "--max-semi-space-size=8", "--heap-growing-percent=50", "--v8-pool-size=1", "server/main.ts"]
