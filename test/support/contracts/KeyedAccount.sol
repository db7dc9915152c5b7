// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";

/// As BatchAccount, with a nonce at the beginning of opData: its upper 192 bits are a key, and each key counts by itself (as in ERC-4337).
contract KeyedAccount {
    struct Call {
        address to;
        uint256 value;
        bytes data;
    }

    mapping(uint192 => uint64) public used;

    function execute(bytes32 mode, bytes calldata executionData) external payable {
        require(bytes10(mode) == 0x01000000000078210001, "mode");
        (Call[] memory calls, bytes memory opData) = abi.decode(executionData, (Call[], bytes));
        (uint256 nonce, bytes memory signature) = split(opData);
        require(uint64(nonce) == used[uint192(nonce >> 64)]++, "nonce");
        bytes32 content = keccak256(abi.encode(block.chainid, address(this), nonce, calls));
        require(ECDSA.recover(MessageHashUtils.toEthSignedMessageHash(content), signature) == address(this), "signer");
        for (uint256 i = 0; i < calls.length; i++) {
            (bool ok, bytes memory result) = calls[i].to.call{value: calls[i].value}(calls[i].data);
            if (!ok) assembly ("memory-safe") { revert(add(result, 32), mload(result)) }
        }
    }

    function split(bytes memory opData) private pure returns (uint256 nonce, bytes memory signature) {
        nonce = uint256(bytes32(opData));
        signature = new bytes(opData.length - 32);
        for (uint256 i = 0; i < signature.length; i++) signature[i] = opData[i + 32];
    }
}
