// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";

/// The code of an account (EIP-7702) that makes the calls which its key signed, and without a signature those that it makes itself
/// (ERC-7821).
contract BatchAccount {
    struct Call {
        address to;
        uint256 value;
        bytes data;
    }

    uint256 public used;

    function execute(bytes32 mode, bytes calldata executionData) external payable {
        if (bytes10(mode) == 0x01000000000000000000) {
            require(msg.sender == address(this), "caller");
            return make(abi.decode(executionData, (Call[])));
        }
        require(bytes10(mode) == 0x01000000000078210001, "mode");
        (Call[] memory calls, bytes memory signature) = abi.decode(executionData, (Call[], bytes));
        bytes32 content = keccak256(abi.encode(block.chainid, address(this), used, calls));
        require(ECDSA.recover(MessageHashUtils.toEthSignedMessageHash(content), signature) == address(this), "signer");
        used += 1;
        make(calls);
    }

    function make(Call[] memory calls) private {
        for (uint256 i = 0; i < calls.length; i++) {
            (bool ok, bytes memory result) = calls[i].to.call{value: calls[i].value}(calls[i].data);
            if (!ok) assembly ("memory-safe") { revert(add(result, 32), mload(result)) }
        }
    }
}
