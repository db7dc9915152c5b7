// Hardhat 3 as it is: its network `relayer` signs and sends through a relayer. Packages: hardhat, @nomicfoundation/hardhat-ethers.
import hardhatEthers from '@nomicfoundation/hardhat-ethers'
import { defineConfig } from 'hardhat/config'

const { RELAYER_URL = 'http://127.0.0.1:8080', RELAYER_API_KEY, RELAYER_ID = 'demo' } = process.env

export default defineConfig({
  plugins: [hardhatEthers],
  networks: {
    relayer: {
      type: 'http',
      url: `${RELAYER_URL}/api/v1/relayers/${RELAYER_ID}/rpc`,
      accounts: 'remote',
      httpHeaders: { Authorization: `Bearer ${RELAYER_API_KEY}` },
    },
  },
})
