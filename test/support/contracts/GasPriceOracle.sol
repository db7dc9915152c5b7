// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// What chains of the OP stack have at 0x420000000000000000000000000000000000000F: the fees for a transaction's data and for the operator.
contract GasPriceOracle {
    function getL1FeeUpperBound(uint256 unsignedTxSize) external pure returns (uint256) {
        return unsignedTxSize * 1e12;
    }

    function getOperatorFee(uint256 gasUsed) external pure returns (uint256) {
        return gasUsed * 1e6;
    }
}

/// The same before the fork Fjord, as at chains that have not followed it: only the bytes themselves tell the fee.
contract OldGasPriceOracle {
    function getL1Fee(bytes calldata unsignedTx) external pure returns (uint256) {
        uint256 gas;
        for (uint256 at = 0; at < unsignedTx.length; at++) gas += unsignedTx[at] == 0 ? 4 : 16;
        return gas * 1e9;
    }
}
